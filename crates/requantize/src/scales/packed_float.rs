//! Scales of 19 bits (sign, 8 bits of exponent, 10 of mantissa), as Ascend's cube unit reads them. Such a scale is an
//! `f32` without its 13 lowest bits. The relative error is below 2^-10.

use super::ScaleError;

/// The bits of an `f32` that are kept.
const MASK: u32 = 0xFFFF_E000;

/// The scale that the chip keeps: the lowest bits are cut off, without rounding. Zero, subnormal numbers, infinities
/// and NaN are refused.
pub fn truncate(scale: f32) -> Result<f32, ScaleError> {
    if !(scale.is_normal() && scale > 0.0) {
        return Err(ScaleError::NotPositive {
            what: "packed scale",
            value: scale.into(),
        });
    }
    Ok(f32::from_bits(scale.to_bits() & MASK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleven_significant_bits_remain_and_none_is_rounded_up() {
        let step = 2f32.powi(-10);
        assert_eq!(truncate(1.0 + step), Ok(1.0 + step));
        assert_eq!(truncate((1.0 + step).next_down()), Ok(1.0));
        assert_eq!(truncate(f32::MIN_POSITIVE), Ok(f32::MIN_POSITIVE));
        for scale in [1e-3f32, 0.1, 0.3, 7.7, 1e30] {
            let cut = truncate(scale).unwrap();
            assert!(cut <= scale && (scale - cut) / scale < step);
            assert_eq!(cut.to_bits().trailing_zeros().min(13), 13);
        }
        for scale in [0.0, -1.0, f32::MIN_POSITIVE.next_down(), f32::INFINITY, f32::NAN] {
            assert!(truncate(scale).is_err(), "{scale}");
        }
    }
}
