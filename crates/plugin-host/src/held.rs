//! Compares a library's codes with those that the form defines.

use strait_kernels::integer::Tile;
use strait_requantize::{IntType, Requantization};

/// A sentence about the first accumulator of a tile for which the library's code differs from the form's; `None` if no
/// code differs.
pub(crate) fn differing<T: Copy + Into<i64>>(
    form: &Requantization,
    row: &str,
    tile: &Tile,
    accumulators: &[T],
    codes: &[u8],
) -> Option<String> {
    let count = form.channels().unwrap_or(1);
    let channels: Vec<_> = (0..count).map(|channel| form.channel(channel).ok()).collect();
    let width = codes.len() / accumulators.len().max(1);
    let codes = codes.chunks_exact(width.max(1)).map(|bytes| code(bytes, form.out()));
    accumulators
        .iter()
        .zip(codes)
        .enumerate()
        .find_map(|(at, (&x, found))| {
            let channel = tile.channel(at).min(count.saturating_sub(1));
            let scalars = channels.get(channel)?.as_ref()?;
            let (low, high) = scalars.domain().into_inner();
            let x: i64 = x.into();
            let expected = scalars.eval(x.clamp(low, high)).ok()?;
            (found != expected).then(|| {
                format!(
                    "it makes {found} of the accumulator {x} in channel {channel}, and the form `{row}` says {expected}"
                )
            })
        })
}

/// Reads a code from its bytes, in the byte order of the machine.
pub(crate) fn code(bytes: &[u8], out: IntType) -> i32 {
    let negative = out.min() < 0 && bytes.last().is_some_and(|&high| high >= 0x80);
    let mut whole = [if negative { 0xff } else { 0 }; 4];
    whole.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = byte);
    i32::from_ne_bytes(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_codes_of_their_type() {
        assert_eq!(code(&[0x80], IntType::I8), -128);
        assert_eq!(code(&[0x80], IntType::U8), 128);
        assert_eq!(code(&(-2i16).to_ne_bytes(), IntType::I16), -2);
        assert_eq!(code(&0xfffeu16.to_ne_bytes(), IntType::U16), 0xfffe);
        assert_eq!(code(&i32::MIN.to_ne_bytes(), IntType::I32), i32::MIN);
    }
}
