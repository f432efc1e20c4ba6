//! Functions of one code.

use super::bytes::{check_8_bits, flip, width};
use crate::{
    error::{KernelError, expect_len, product},
    isa::{Context, Job},
    parallel::for_each_chunk,
    simd::Simd,
};
use strait_requantize::IntType;

/// Elements of a task.
const PIECE: usize = 1 << 14;

/// `out = table[input]` for elements of type `element` (I8 or U8). The table has 256 entries of any width, that of the
/// smallest code first; `out` has as many entries as `input` elements.
///
/// # Errors
/// [`KernelError::Shape`] where the slices do not fit together.
pub fn lookup(_: &Context, element: IntType, table: &[u8], input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
    check_8_bits("the operand of a lookup", element)?;
    let width = table.len() / 256;
    expect_len("the table", table.len(), Some(width.max(1) * 256))?;
    expect_len("the output", out.len(), product(&[input.len(), width]))?;
    let flip = flip(element);
    for_each_chunk(out, PIECE * width, input.len(), |i, out| {
        let input = &input[i * PIECE..];
        if let Ok(table) = <&[u8; 256]>::try_from(table) {
            out.iter_mut()
                .zip(input)
                .for_each(|(to, &x)| *to = table[usize::from(x ^ flip)]);
        } else {
            for (to, &x) in out.chunks_exact_mut(width).zip(input) {
                let entry = usize::from(x ^ flip) * width;
                to.copy_from_slice(&table[entry..entry + width]);
            }
        }
    });
    Ok(())
}

/// `min(max(x, low), high)` on elements of any type.
///
/// # Errors
/// [`KernelError::Shape`] where the slices differ in length or are no whole elements.
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
