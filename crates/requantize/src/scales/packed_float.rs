//! Scales of 19 bits (sign, 8 of exponent, 10 of mantissa), as Ascend's cube unit takes them: an `f32` whose 13 lowest
//! bits are cut off. The relative error is below 2^-10.

use super::{ScaleError, positive};
use crate::{IntType, Per, Requantization, form};

/// The bits of an `f32` that remain.
pub const MASK: u32 = 0xFFFF_E000;

/// The scale as the chip keeps it: truncated, not rounded. Zero, subnormal numbers, infinities and not-a-number are
/// refused.
pub fn truncate(scale: f32) -> Result<f32, ScaleError> {
    if !(scale.is_normal() && scale > 0.0) {
        return Err(ScaleError::NotPositive {
            what: "packed scale",
            value: scale.into(),
        });
    }
    Ok(f32::from_bits(scale.to_bits() & MASK))
}

/// The requantization `sat(rint(f32(x) * req) + offset)` with `req = (weight * input) * (1 / output)` in `f32`: the
/// dequantization's scale times the quantization's. `packed` cuts `req` to 19 bits.
pub fn requantization(
    input: f32,
    weights: &Per<f32>,
    output: f32,
    offset: i32,
    packed: bool,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    positive("input scale", input.into())?;
    positive("output scale", output.into())?;
    let factor = |w: &f32| {
        positive("weight scale", f64::from(*w))?;
        let req = (*w * input) * (1.0 / output);
        if packed { truncate(req) } else { Ok(req) }
    };
    let form = Requantization::Float(form::Float {
        scale: weights.try_map(factor)?,
        zp: offset,
        out,
    });
    form.check()?;
    Ok(form)
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

    #[test]
    fn the_packed_factor_is_the_truncated_one() {
        let scale = |packed| match requantization(0.02, &0.003.into(), 0.05, 4, packed, IntType::I8) {
            Ok(Requantization::Float(form::Float {
                scale: Per::Tensor(scale),
                zp: 4,
                ..
            })) => scale,
            other => panic!("{other:?}"),
        };
        assert_eq!(scale(false), (0.003f32 * 0.02) * (1.0 / 0.05));
        assert_eq!(Ok(scale(true)), truncate(scale(false)));
        assert_ne!(scale(true), scale(false));
    }
}
