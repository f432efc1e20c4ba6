//! The rule by which compilers to TOSA derive the integers of RESCALE from a real factor.
//!
//! Source: `computeMultiplierAndShift` in MLIR's TOSA dialect. The converters from TensorFlow Lite and PyTorch use it.
//! TOSA itself only limits the integers, so a compiler may choose others.

use super::{ScaleError, fixed_point::FixedPoint};

/// The width of the multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A multiplier of 16 bits, 15 of them for the mantissa.
    Scale16,
    /// A multiplier of 32 bits, 31 of them for the mantissa.
    Scale32,
}

/// Derives the multiplier and the shift from a factor, which is about `multiplier * 2^-shift`. The multiplier is
/// rounded to the nearest integer, ties away from zero. If the shift would be above 62, it becomes 62, and the
/// multiplier loses its lowest bits. If the shift would be below 2, the factor is refused.
pub fn multiplier_and_shift(factor: f64, scale: Scale) -> Result<(i32, u8), ScaleError> {
    let bits = match scale {
        Scale::Scale16 => 15,
        Scale::Scale32 => 31,
    };
    let FixedPoint { mantissa, exponent, .. } = FixedPoint::nearest(factor, bits)?;
    let shift = i32::from(bits) - exponent;
    match u8::try_from(shift) {
        Ok(shift @ 2..=62) => Ok((mantissa, shift)),
        // The factor is below about 2^-47. A mantissa has at most 31 bits, so it becomes zero after a shift of 31.
        _ if shift > 62 => Ok((mantissa >> (shift - 62).min(31), 62)),
        _ => Err(ScaleError::TooLarge {
            factor,
            rule: "a shift of at least 2",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mantissas_fill_their_width_until_the_shift_ends() {
        use Scale::{Scale16, Scale32};
        for (factor, scale, expect) in [
            (1.0, Scale32, (1 << 30, 30)),
            (1.0, Scale16, (1 << 14, 14)),
            (0.1, Scale32, (1_717_986_918, 34)),
            (0.1, Scale16, (26_214, 18)),
            // Rounds up to the next power of two.
            (1f64.next_down(), Scale16, (1 << 14, 14)),
            (2f64.powi(28), Scale32, (1 << 30, 2)),
            (2f64.powi(-32), Scale32, (1 << 30, 62)),
            (0.75 * 2f64.powi(-33), Scale32, (3 << 27, 62)),
            (0.75 * 2f64.powi(-90), Scale32, (0, 62)),
        ] {
            assert_eq!(multiplier_and_shift(factor, scale), Ok(expect), "{factor} {scale:?}");
        }
        for (factor, scale) in [
            (2f64.powi(29), Scale32),
            (2f64.powi(13), Scale16),
            (f64::NAN, Scale32),
            (0.0, Scale16),
        ] {
            assert!(multiplier_and_shift(factor, scale).is_err(), "{factor} {scale:?}");
        }
    }
}
