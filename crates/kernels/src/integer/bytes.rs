//! Elements as bytes.

use crate::error::KernelError;
use strait_requantize::IntType;

/// Bytes of one element.
#[inline(always)]
pub(crate) const fn width(element: IntType) -> usize {
    element.bits() as usize / 8
}

/// What turns a byte into an unsigned number that grows with the element: the element minus the smallest of its type.
/// Only for the types of 8 bits.
#[inline(always)]
pub(crate) const fn flip(element: IntType) -> u8 {
    match element {
        IntType::I8 => 0x80,
        _ => 0,
    }
}

/// The type has 8 bits.
pub(crate) fn check_8_bits(what: &str, element: IntType) -> Result<(), KernelError> {
    if width(element) == 1 {
        Ok(())
    } else {
        Err(KernelError::Shape(format!(
            "{what} is {element}; these loops take i8 and u8"
        )))
    }
}

/// A code of an 8-bit type as the byte that stands for it.
pub(crate) fn byte_of(what: &str, element: IntType, code: i32) -> Result<u8, KernelError> {
    if element.range().contains(&code) {
        Ok(code.to_le_bytes()[0])
    } else {
        Err(KernelError::Shape(format!("{what} {code} is not a code of {element}")))
    }
}

/// Writes values that the type holds.
#[inline(always)]
pub(crate) fn store(element: IntType, values: &[i32; 16], out: &mut [u8]) {
    match element {
        IntType::I8 | IntType::U8 => {
            // Values of the type: the lowest byte of each is the element.
            let bytes = values.map(|v| v as u8);
            match out.first_chunk_mut::<16>() {
                Some(whole) => *whole = bytes,
                None => out.copy_from_slice(&bytes[..out.len()]),
            }
        }
        IntType::I16 => {
            for (to, &v) in out.chunks_exact_mut(2).zip(values) {
                to.copy_from_slice(&(v as i16).to_ne_bytes());
            }
        }
        IntType::I32 => {
            for (to, &v) in out.chunks_exact_mut(4).zip(values) {
                to.copy_from_slice(&v.to_ne_bytes());
            }
        }
    }
}

/// Sixteen elements of `data` from byte 0 on; those behind its end are 0.
#[inline(always)]
pub(crate) fn load(element: IntType, data: &[u8]) -> [i32; 16] {
    let mut values = [0; 16];
    match element {
        IntType::I8 => values
            .iter_mut()
            .zip(data)
            .for_each(|(v, &b)| *v = i32::from(b.cast_signed())),
        IntType::U8 => values.iter_mut().zip(data).for_each(|(v, &b)| *v = i32::from(b)),
        IntType::I16 => {
            for (v, b) in values.iter_mut().zip(data.chunks_exact(2)) {
                *v = i32::from(i16::from_ne_bytes([b[0], b[1]]));
            }
        }
        IntType::I32 => {
            for (v, b) in values.iter_mut().zip(data.chunks_exact(4)) {
                *v = i32::from_ne_bytes([b[0], b[1], b[2], b[3]]);
            }
        }
    }
    values
}
