//! Functions of one code: table lookups and clamps.

use super::bytes::{Code, check_codes, flip, origin, width};
use crate::context::Context;
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::for_each_chunk,
    simd::Simd,
};
use strait_requantize::IntType;

/// Number of elements that a task computes.
const PIECE: usize = 1 << 14;

/// Computes `out = table[input]` for elements of type `element`, of up to 16 bits. The table has one entry per code,
/// and the first entry is for the smallest code. Entries may have any number of bytes. `out` has one entry for each
/// element of `input`.
///
/// # Errors
/// [`KernelError::Shape`] if the slices do not fit together.
pub fn lookup(cx: &Context, element: IntType, table: &[u8], input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
    check_codes("the operand of a lookup", element)?;
    let entries = 1 << element.bits();
    let entry = table.len() / entries;
    expect_len("the table", table.len(), Some(entry.max(1) * entries))?;
    let count = input.len() / width(element);
    expect_len("the input", input.len(), Some(count * width(element)))?;
    expect_len("the output", out.len(), product(&[count, entry]))?;
    if let (Ok(table), 1) = (<&[u8; 256]>::try_from(table), entry) {
        let flip = flip(element);
        // The table is sorted by codes, and `look_up` reads it by bytes.
        let table = std::array::from_fn(|byte| table[byte ^ usize::from(flip)]);
        for_each_chunk(out, PIECE, count, |i, out| {
            look_up(*cx, &table, &input[i * PIECE..][..out.len()], out);
        });
        return Ok(());
    }
    match width(element) {
        1 => entries_of::<[u8; 1]>(element, table, entry, input, out),
        _ => entries_of::<[u8; 2]>(element, table, entry, input, out),
    }
    Ok(())
}

/// Computes `out = table[input]` for bytes.
pub(super) fn look_up(cx: Context, table: &[u8; 256], input: &[u8], out: &mut [u8]) {
    let done = cx.permuted(table, input, out);
    let rest = out.iter_mut().zip(input).skip(done);
    rest.for_each(|(to, &x)| *to = table[usize::from(x)]);
}

/// The lookup in a table whose entries have `width` bytes.
fn entries_of<T: Code>(element: IntType, table: &[u8], width: usize, input: &[u8], out: &mut [u8]) {
    let input = T::codes(input);
    // For a valid code, the mask does not change the index.
    let (lowest, mask) = ((element.min() - origin(element)) as u32, (1 << element.bits()) - 1);
    let at = |x: T| (x.above(element).wrapping_sub(lowest) & mask) as usize;
    for_each_chunk(out, PIECE * width, input.len(), |i, out| {
        let input = &input[i * PIECE..];
        for (to, &x) in out.chunks_exact_mut(width).zip(input) {
            let entry = at(x) * width;
            to.copy_from_slice(&table[entry..entry + width]);
        }
    });
}

/// Computes `min(max(x, low), high)` for elements of any type.
///
/// # Errors
/// [`KernelError::Shape`] if the slices differ in length or do not consist of whole elements.
pub fn clamp(cx: &Context, element: IntType, ends: [i32; 2], input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
    let width = width(element);
    expect_len("the input", input.len(), Some(input.len() / width * width))?;
    expect_len("the output", out.len(), Some(input.len()))?;
    let ends = super::epilogue::bounds(element, Some(ends));
    for_each_chunk(out, PIECE * width, input.len(), |i, out| {
        cx.run(ClampTask {
            element,
            ends,
            input: &input[i * PIECE * width..],
            out,
        });
    });
    Ok(())
}

struct ClampTask<'a> {
    element: IntType,
    ends: [i32; 2],
    input: &'a [u8],
    out: &'a mut [u8],
}

impl Job for ClampTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        self.out.copy_from_slice(&self.input[..self.out.len()]);
        super::bytes::clamp(self.element, self.ends, self.out);
    }
}
