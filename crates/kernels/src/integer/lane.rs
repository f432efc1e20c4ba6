//! The elements that products read: bytes, or signed words of 16 bits.

use super::{
    bytes::width,
    product::{Bytes, COLUMNS, Products, Words},
};
use crate::simd::{Dots, interleave, interleave_words};
use std::borrow::Cow;
use strait_requantize::IntType;

/// The type of an element in the operand that is packed into panels.
pub(crate) trait Lane: Copy + Default + Send + Sync + 'static {
    /// How products with packed panels of this element type are computed.
    type Products: Products;
    /// Number of elements that four bytes hold.
    const LANES: usize;
    /// Number of bytes that an element takes.
    const BYTES: usize = 4 / Self::LANES;

    /// Packs sixteen columns. Every `LANES` taps of a column take four bytes. `line` returns the sixteen elements that
    /// the columns have at a tap. If elements are bytes, they are XORed with `flip`.
    fn pack(rows: &mut [[u8; 64]], taps: &[usize], flip: u8, line: impl Fn(usize) -> [Self; COLUMNS]);

    /// Adds `weight` times element `l` to lane `l` of the sums. If elements are bytes, they are signed if `SIGNED` is
    /// true.
    ///
    /// # Safety
    /// Sixteen elements must be readable, and the machine must have the instruction set of `D`.
    unsafe fn add_scaled<D: Dots, const SIGNED: bool>(sums: D, elements: *const Self, weight: i32) -> D;

    /// The weight for a tap, read from the bytes of a packed row.
    fn weight(row: &[u8], tap: usize) -> i32;

    /// Converts the codes of an activation to the elements that products read.
    fn elements(element: IntType, codes: &[u8]) -> Cow<'_, [Self]>;

    /// Converts a code of an activation to the element that products read.
    fn element(element: IntType, code: i32) -> Self;
}

impl Lane for u8 {
    type Products = Bytes<true>;
    const LANES: usize = 4;

    #[inline(always)]
    fn pack(rows: &mut [[u8; 64]], taps: &[usize], flip: u8, line: impl Fn(usize) -> [u8; COLUMNS]) {
        for (row, taps) in rows.iter_mut().zip(taps.as_chunks::<{ Self::LANES }>().0) {
            let mut lines = [[0; COLUMNS]; Self::LANES];
            for (to, &tap) in lines.iter_mut().zip(taps) {
                *to = line(tap);
            }
            *row = interleave(&lines, flip);
        }
    }

    #[inline(always)]
    unsafe fn add_scaled<D: Dots, const SIGNED: bool>(sums: D, elements: *const u8, weight: i32) -> D {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { sums.add_scaled::<SIGNED>(&*elements.cast(), weight) }
    }

    #[inline(always)]
    fn weight(row: &[u8], tap: usize) -> i32 {
        row[tap].cast_signed().into()
    }

    #[inline(always)]
    fn elements(_: IntType, codes: &[u8]) -> Cow<'_, [u8]> {
        Cow::Borrowed(codes)
    }

    fn element(_: IntType, code: i32) -> u8 {
        code.to_le_bytes()[0]
    }
}

impl Lane for i16 {
    type Products = Words;
    const LANES: usize = 2;

    #[inline(always)]
    fn pack(rows: &mut [[u8; 64]], taps: &[usize], _: u8, line: impl Fn(usize) -> [i16; COLUMNS]) {
        for (row, taps) in rows.iter_mut().zip(taps.as_chunks::<{ Self::LANES }>().0) {
            let mut lines = [[0; COLUMNS]; Self::LANES];
            for (to, &tap) in lines.iter_mut().zip(taps) {
                *to = line(tap);
            }
            *row = interleave_words(&lines);
        }
    }

    #[inline(always)]
    unsafe fn add_scaled<D: Dots, const SIGNED: bool>(sums: D, elements: *const i16, weight: i32) -> D {
        // SAFETY: the caller upholds this function's safety contract, and an array has the alignment of its elements.
        unsafe { sums.add_scaled_words(&*elements.cast(), weight) }
    }

    #[inline(always)]
    fn weight(row: &[u8], tap: usize) -> i32 {
        i16::from_ne_bytes([row[2 * tap], row[2 * tap + 1]]).into()
    }

    fn elements(element: IntType, codes: &[u8]) -> Cow<'_, [i16]> {
        // Each type has a loop of its own, without a branch inside.
        let two = || codes.as_chunks::<2>().0.iter().map(|&code| i16::from_ne_bytes(code));
        Cow::Owned(match (width(element), element) {
            (1, IntType::I8 | IntType::I4) => codes.iter().map(|&code| code.cast_signed().into()).collect(),
            (1, _) => codes.iter().map(|&code| code.into()).collect(),
            (_, IntType::U16) => two().map(|code| code ^ i16::MIN).collect(),
            _ => two().collect(),
        })
    }

    fn element(element: IntType, code: i32) -> i16 {
        // The code has at most 16 bits, and the subtraction moves it to the range of a signed word.
        (i64::from(code) - word_offset(element)) as i16
    }
}

/// The difference between a code and the word that products read for it: code minus word.
pub(crate) fn word_offset(element: IntType) -> i64 {
    match element {
        IntType::U16 => 1 << 15,
        _ => 0,
    }
}

/// Returns the word that products read for a code. `code` has the bytes of the code.
#[inline(always)]
pub(crate) fn word(element: IntType, code: &[u8]) -> i16 {
    match (element, code) {
        (IntType::I8 | IntType::I4, &[byte]) => byte.cast_signed().into(),
        (_, &[byte]) => byte.into(),
        // The XOR subtracts 2^15, and the result is read as a signed word.
        (IntType::U16, code) => (u16::from_ne_bytes([code[0], code[1]]) ^ (1 << 15)).cast_signed(),
        (_, code) => i16::from_ne_bytes([code[0], code[1]]),
    }
}
