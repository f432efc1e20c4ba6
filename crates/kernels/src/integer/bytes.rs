//! Reads and writes integer elements as bytes.

use crate::error::KernelError;
use strait_requantize::IntType;

/// Number of bytes of one element. An element of 4 bits has a byte of its own.
#[inline(always)]
pub(crate) const fn width(element: IntType) -> usize {
    element.bits().div_ceil(8) as usize
}

/// Returns a mask that makes the bytes of signed and unsigned elements comparable. An element's byte XOR the mask, read
/// as an unsigned number, is the element minus the smallest value of the 8-bit type. So larger elements become larger
/// numbers.
#[inline(always)]
pub(crate) const fn flip(element: IntType) -> u8 {
    match element {
        IntType::I8 | IntType::I4 => 0x80,
        IntType::U8 | IntType::U4 | IntType::I16 | IntType::U16 | IntType::I32 => 0,
    }
}

/// Like `flip`, a mask for types of two bytes.
#[inline(always)]
pub(crate) const fn flip_16(element: IntType) -> u16 {
    match element {
        IntType::I16 => 0x8000,
        _ => 0,
    }
}

/// The smallest value that the storage of `element` (one or two bytes) can hold, even if the type itself uses fewer
/// bits. An element equals `origin` + u, where u is the element's bits XOR the mask (see `flip`), read as an unsigned
/// number.
#[inline(always)]
pub(crate) const fn origin(element: IntType) -> i32 {
    match element {
        IntType::I4 => IntType::I8.min(),
        element => element.min(),
    }
}

/// Checks that the type has at most 16 bits.
pub(crate) fn check_codes(what: &str, element: IntType) -> Result<(), KernelError> {
    if width(element) <= 2 {
        Ok(())
    } else {
        Err(KernelError::Shape(format!(
            "{what} is {element}; these loops take codes of up to 16 bits"
        )))
    }
}

/// Checks that the type has 8 bits.
pub(crate) fn check_8_bits(what: &str, element: IntType) -> Result<(), KernelError> {
    if element.bits() == 8 {
        Ok(())
    } else {
        Err(KernelError::Shape(format!(
            "{what} is {element}; these loops take i8 and u8"
        )))
    }
}

/// Checks that `code` is in the range of the type.
pub(crate) fn check_code(what: &str, element: IntType, code: i32) -> Result<(), KernelError> {
    if element.range().contains(&code) {
        Ok(())
    } else {
        Err(KernelError::Shape(format!("{what} {code} is not a code of {element}")))
    }
}

/// Clamps elements in place. Both bounds are codes of the type.
#[inline(always)]
pub(crate) fn clamp(element: IntType, [low, high]: [i32; 2], data: &mut [u8]) {
    /// Replaces each element, which has `N` bytes, by the result of `clamped`.
    #[inline(always)]
    fn each<const N: usize>(data: &mut [u8], clamped: impl Fn([u8; N]) -> [u8; N]) {
        for bytes in data.as_chunks_mut().0 {
            *bytes = clamped(*bytes);
        }
    }
    // The caller guarantees that both bounds are codes of the type, so the casts lose nothing.
    match element {
        IntType::I8 | IntType::I4 => each(data, |x| {
            i8::from_ne_bytes(x).min(high as i8).max(low as i8).to_ne_bytes()
        }),
        IntType::U8 | IntType::U4 => each(data, |[x]| [x.min(high as u8).max(low as u8)]),
        IntType::I16 => each(data, |x| {
            i16::from_ne_bytes(x).min(high as i16).max(low as i16).to_ne_bytes()
        }),
        IntType::U16 => each(data, |x| {
            u16::from_ne_bytes(x).min(high as u16).max(low as u16).to_ne_bytes()
        }),
        IntType::I32 => each(data, |x| i32::from_ne_bytes(x).min(high).max(low).to_ne_bytes()),
    }
}

/// Widens elements to i32. The shorter of the two slices determines how many.
#[inline(always)]
pub(crate) fn widen(element: IntType, data: &[u8], out: &mut [i32]) {
    /// Computes each number with `wide` from an element of `N` bytes.
    #[inline(always)]
    fn each<const N: usize>(data: &[u8], out: &mut [i32], wide: impl Fn([u8; N]) -> i32) {
        for (to, &bytes) in out.iter_mut().zip(data.as_chunks().0) {
            *to = wide(bytes);
        }
    }
    match element {
        IntType::I8 | IntType::I4 => each(data, out, |x| i8::from_ne_bytes(x).into()),
        IntType::U8 | IntType::U4 => each(data, out, |[x]| x.into()),
        IntType::I16 => each(data, out, |x| i16::from_ne_bytes(x).into()),
        IntType::U16 => each(data, out, |x| u16::from_ne_bytes(x).into()),
        IntType::I32 => each(data, out, i32::from_ne_bytes),
    }
}

/// The bytes of a code. A code has one or two bytes.
pub(crate) trait Code: Copy + Send + Sync {
    /// Views bytes as codes, without copying.
    fn codes(bytes: &[u8]) -> &[Self];
    /// Views bytes as codes that can be written, without copying.
    fn codes_mut(bytes: &mut [u8]) -> &mut [Self];
    /// The code minus the type's [`origin`].
    fn above(self, element: IntType) -> u32;
    /// The code that equals the type's [`origin`] plus `above`.
    fn new(element: IntType, above: u32) -> Self;
}

impl Code for [u8; 1] {
    #[inline(always)]
    fn codes(bytes: &[u8]) -> &[Self] {
        bytes.as_chunks().0
    }

    #[inline(always)]
    fn codes_mut(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }

    #[inline(always)]
    fn above(self, element: IntType) -> u32 {
        (self[0] ^ flip(element)).into()
    }

    #[inline(always)]
    fn new(element: IntType, above: u32) -> Self {
        // `above` is below 2^8, so the cast loses nothing.
        [above as u8 ^ flip(element)]
    }
}

impl Code for [u8; 2] {
    #[inline(always)]
    fn codes(bytes: &[u8]) -> &[Self] {
        bytes.as_chunks().0
    }

    #[inline(always)]
    fn codes_mut(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }

    #[inline(always)]
    fn above(self, element: IntType) -> u32 {
        (u16::from_ne_bytes(self) ^ flip_16(element)).into()
    }

    #[inline(always)]
    fn new(element: IntType, above: u32) -> Self {
        // `above` fits in 16 bits.
        (above as u16 ^ flip_16(element)).to_ne_bytes()
    }
}

/// Views the same bytes as signed, without copying.
pub(crate) fn signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: every byte is valid as u8 and as i8, and the length is the same.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Copies bytes. Each of the copies is XORed with `flip`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn flipped(bytes: &[u8], flip: u8, to: &mut [u8]) {
    // Loops of a fixed length become vector instructions.
    let ((sixteens, bytes), (to_sixteens, to)) = (bytes.as_chunks::<16>(), to.as_chunks_mut::<16>());
    for (to, sixteen) in to_sixteens.iter_mut().zip(sixteens) {
        *to = sixteen.map(|byte| byte ^ flip);
    }
    let ((fours, bytes), (to_fours, to)) = (bytes.as_chunks::<4>(), to.as_chunks_mut::<4>());
    for (to, four) in to_fours.iter_mut().zip(fours) {
        *to = four.map(|byte| byte ^ flip);
    }
    to.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = byte ^ flip);
}

/// Widens bytes, of which each XOR `flip` is an element. The elements are signed if `SIGNED` is true.
#[inline(always)]
pub(crate) fn to_words<const SIGNED: bool>(bytes: &[u8], flip: u8, to: &mut [i16]) {
    let word = |byte: u8| -> i16 {
        match SIGNED {
            true => (byte ^ flip).cast_signed().into(),
            false => (byte ^ flip).into(),
        }
    };
    // A loop of a fixed length becomes vector instructions.
    let ((sixteens, bytes), (to_sixteens, to)) = (bytes.as_chunks::<16>(), to.as_chunks_mut::<16>());
    for (to, sixteen) in to_sixteens.iter_mut().zip(sixteens) {
        *to = sixteen.map(word);
    }
    // With few channels, most bytes are here. The four bytes of a number are moved apart: first two and two, then each.
    let ((fours, bytes), (to_fours, to)) = (bytes.as_chunks::<4>(), to.as_chunks_mut::<4>());
    for (to, four) in to_fours.iter_mut().zip(fours) {
        let x = u64::from(u32::from_le_bytes(*four) ^ u32::from_ne_bytes([flip; 4]));
        let x = (x | x << 16) & 0x0000_FFFF_0000_FFFF;
        let x = (x | x << 8) & 0x00FF_00FF_00FF_00FF;
        *to = [0, 16, 32, 48].map(|at| {
            let byte = (x >> at) as u8;
            if SIGNED { byte.cast_signed().into() } else { byte.into() }
        });
    }
    to.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = word(byte));
}
