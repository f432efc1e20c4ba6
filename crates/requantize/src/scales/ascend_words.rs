//! The 64-bit words in which Ascend's tools hand scales and offsets to the chip.
//!
//! | word | 0..32 | 32..40 | 37..46 | 40..48 | 46 | 47 |
//! |---|---|---|---|---|---|---|
//! | [`DeqParam`], in the graph | scale | N | | weight offset | | |
//! | [`FixpipeWord`], at the chip | scale, 19 bits | | offset, 9 bits | | signed result | |
//! | [`DequantS16Word`] | | N - 1 | | | | ReLU |
//! | [`RequantS16Word`] | scale | | offset, 9 bits | | 1 | |
//!
//! Offsets are two's complement. Bits that no field owns are zero.

use super::packed_float::MASK;

/// Reason why a word or its fields do not fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WordError {
    /// A field that its bits cannot hold.
    #[error("{field} {value} is outside {least} ..= {most}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: i64,
        /// The smallest value.
        least: i64,
        /// The largest value.
        most: i64,
    },
    /// A scale that is no positive normal number, or has bits that the chip does not keep.
    #[error("{0} is not a scale that the word can hold")]
    Scale(f32),
    /// Bit 46 of the S16 pair's second word is not set: its result is signed.
    #[error("the result of this word is signed: bit 46 is missing")]
    Unsigned,
    /// Bits that belong to no field are set.
    #[error("the word {0:#018x} has bits that no field owns")]
    Stray(u64),
}

const OFFSET: (u32, i64, i64) = (37, -256, 255);
const SIGNED: u64 = 1 << 46;
const RELU: u64 = 1 << 47;

/// `deq_scale` as a graph stores it: one word for the tensor or one per channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeqParam {
    /// The scale, positive and normal.
    pub scale: f32,
    /// N of the S16 path; 0 where that is not used.
    pub shift: u8,
    /// The weights' zero point.
    pub weight_offset: i8,
}

impl DeqParam {
    /// The word.
    pub fn encode(&self) -> Result<u64, WordError> {
        // The offset's byte, without its sign's extension.
        let offset = u64::from(self.weight_offset.cast_unsigned());
        Ok(scale_bits(self.scale, !0)? | u64::from(self.shift) << 32 | offset << 40)
    }

    /// The fields of a word.
    pub fn decode(word: u64) -> Result<Self, WordError> {
        stray(word, 0xFFFF_FFFF_FFFF)?;
        Ok(DeqParam {
            scale: scale(word, !0)?,
            shift: byte(word, 32),
            weight_offset: byte(word, 40).cast_signed(),
        })
    }
}

/// The word that the requantization unit behind the cube reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixpipeWord {
    /// A scale of 19 bits ([`truncate`](super::packed_float::truncate)d), positive and normal.
    pub scale: f32,
    /// Added after the rounding, -256 ..= 255.
    pub offset: i16,
    /// True if the result is `i8` rather than `u8`.
    pub signed: bool,
}

impl FixpipeWord {
    /// The word.
    pub fn encode(&self) -> Result<u64, WordError> {
        let signed = if self.signed { SIGNED } else { 0 };
        Ok(scale_bits(self.scale, MASK)? | offset_bits(self.offset)? | signed)
    }

    /// The fields of a word.
    pub fn decode(word: u64) -> Result<Self, WordError> {
        stray(word, u64::from(MASK) | 0x1FF << OFFSET.0 | SIGNED)?;
        Ok(FixpipeWord {
            scale: scale(word, MASK)?,
            offset: offset(word),
            signed: word & SIGNED != 0,
        })
    }
}

/// The first half of the S16 pair, [`AscendDequantS16`](crate::form::AscendDequantS16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DequantS16Word {
    /// N, 1 ..= 16.
    pub shift: u8,
    /// True if negative results become zero.
    pub relu: bool,
}

impl DequantS16Word {
    /// The word.
    pub fn encode(&self) -> Result<u64, WordError> {
        in_range("N", self.shift.into(), 1, 16)?;
        Ok(u64::from(self.shift - 1) << 32 | if self.relu { RELU } else { 0 })
    }

    /// The fields of a word.
    pub fn decode(word: u64) -> Result<Self, WordError> {
        stray(word, 0xF << 32 | RELU)?;
        Ok(DequantS16Word {
            shift: byte(word, 32) + 1,
            relu: word & RELU != 0,
        })
    }
}

/// The second half of the S16 pair, [`AscendRequantS16`](crate::form::AscendRequantS16).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequantS16Word {
    /// The whole `f32`, positive and normal.
    pub scale: f32,
    /// Added after the rounding, -128 ..= 127.
    pub offset: i8,
}

impl RequantS16Word {
    /// The word.
    pub fn encode(&self) -> Result<u64, WordError> {
        Ok(scale_bits(self.scale, !0)? | offset_bits(self.offset.into())? | SIGNED)
    }

    /// The fields of a word.
    pub fn decode(word: u64) -> Result<Self, WordError> {
        stray(word, 0xFFFF_FFFF | 0x1FF << OFFSET.0 | SIGNED)?;
        if word & SIGNED == 0 {
            return Err(WordError::Unsigned);
        }
        let wide = offset(word);
        in_range("offset", wide.into(), i8::MIN.into(), i8::MAX.into())?;
        Ok(RequantS16Word {
            scale: scale(word, !0)?,
            // In range by now.
            offset: wide as i8,
        })
    }
}

fn scale_bits(scale: f32, kept: u32) -> Result<u64, WordError> {
    let whole = scale.is_normal() && scale > 0.0 && scale.to_bits() & !kept == 0;
    if whole {
        Ok(scale.to_bits().into())
    } else {
        Err(WordError::Scale(scale))
    }
}

fn scale(word: u64, kept: u32) -> Result<f32, WordError> {
    // The lower half of the word.
    let scale = f32::from_bits(word as u32);
    scale_bits(scale, kept).map(|_| scale)
}

fn offset_bits(offset: i16) -> Result<u64, WordError> {
    let (at, least, most) = OFFSET;
    in_range("offset", offset.into(), least, most)?;
    // Nine bits of the two's complement.
    Ok(u64::from(offset.cast_unsigned() & 0x1FF) << at)
}

fn offset(word: u64) -> i16 {
    // Nine bits, of which the highest is the sign.
    let bits = (word >> OFFSET.0 & 0x1FF) as i16;
    if bits > 255 { bits - 512 } else { bits }
}

fn byte(word: u64, at: u32) -> u8 {
    word.to_le_bytes()[at as usize / 8]
}

fn in_range(field: &'static str, value: i64, least: i64, most: i64) -> Result<(), WordError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(WordError::Field {
        field,
        value,
        least,
        most,
    })
}

fn stray(word: u64, owned: u64) -> Result<(), WordError> {
    if word & !owned == 0 {
        Ok(())
    } else {
        Err(WordError::Stray(word))
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed_float::truncate;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_lie_where_the_chip_reads_them() {
        let deq = DeqParam {
            scale: 1.0,
            shift: 5,
            weight_offset: -2,
        };
        assert_eq!(deq.encode(), Ok(0x0000_FE05_3F80_0000));
        let word = |offset, signed| FixpipeWord {
            scale: 0.5,
            offset,
            signed,
        };
        assert_eq!(word(3, true).encode(), Ok(0x3F00_0000 | 3 << 37 | 1 << 46));
        assert_eq!(word(-1, true).encode(), Ok(0x3F00_0000 | 0x1FF << 37 | 1 << 46));
        assert_eq!(word(255, false).encode(), Ok(0x3F00_0000 | 0xFF << 37));
        assert_eq!(
            DequantS16Word { shift: 16, relu: true }.encode(),
            Ok(15 << 32 | 1 << 47)
        );
        // Eight bits of the offset, and its sign behind them.
        let requant = RequantS16Word { scale: 2.0, offset: -3 };
        assert_eq!(requant.encode(), Ok(0x4000_0000 | 0xFD << 37 | 1 << 45 | 1 << 46));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let word = |scale, offset| FixpipeWord {
            scale,
            offset,
            signed: true,
        };
        for scale in [
            0.0,
            -1.0,
            f32::NAN,
            f32::INFINITY,
            f32::MIN_POSITIVE / 2.0,
            1f32.next_up(),
        ] {
            assert!(matches!(word(scale, 0).encode(), Err(WordError::Scale(_))), "{scale}");
        }
        assert!(word(1.0, 256).encode().is_err() && word(1.0, -257).encode().is_err());
        assert!(DequantS16Word { shift: 0, relu: false }.encode().is_err());
        assert!(DequantS16Word { shift: 17, relu: false }.encode().is_err());
        assert!(matches!(
            DeqParam::decode(1 << 48 | 0x3F80_0000),
            Err(WordError::Stray(_))
        ));
        assert!(matches!(FixpipeWord::decode(0x3F80_0001), Err(WordError::Stray(_))));
        assert!(matches!(RequantS16Word::decode(0x3F80_0000), Err(WordError::Unsigned)));
        assert!(DeqParam::decode(0).is_err());
    }

    proptest! {
        #[test]
        fn words_survive_decoding(scale in 1e-30f32..1e30, shift: u8, small: i8, wide in -256i16..=255, flag: bool) {
            let deq = DeqParam { scale, shift, weight_offset: small };
            prop_assert_eq!(DeqParam::decode(deq.encode().unwrap()), Ok(deq));
            let packed = truncate(scale).unwrap();
            let word = FixpipeWord { scale: packed, offset: wide, signed: flag };
            prop_assert_eq!(FixpipeWord::decode(word.encode().unwrap()), Ok(word));
            let word = DequantS16Word { shift: shift % 16 + 1, relu: flag };
            prop_assert_eq!(DequantS16Word::decode(word.encode().unwrap()), Ok(word));
            let word = RequantS16Word { scale, offset: small };
            prop_assert_eq!(RequantS16Word::decode(word.encode().unwrap()), Ok(word));
        }

        #[test]
        fn whatever_decodes_encodes_to_the_same_word(word: u64) {
            for word in [word, word & 0x0000_FFFF_FFFF_E000, word & 0x0000_800F_0000_0000] {
                for again in [
                    DeqParam::decode(word).and_then(|w| w.encode()),
                    FixpipeWord::decode(word).and_then(|w| w.encode()),
                    DequantS16Word::decode(word).and_then(|w| w.encode()),
                    RequantS16Word::decode(word).and_then(|w| w.encode()),
                ].into_iter().flatten() {
                    prop_assert_eq!(again, word);
                }
            }
        }
    }
}
