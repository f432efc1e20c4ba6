//! The rules by which Ascend's tools and chips derive factors from the scales in quantization records. Scales are used
//! as in `real = scale * (q - zero_point)`.
//!
//! The factor of a dequantization is `weight * input`, the factor of a quantization is `1 / output`, and the factor of
//! a requantization is the product of both. All are computed in `f32`. The tools store the factors of the
//! dequantization and the quantization. The chip's cube unit keeps 19 bits of a factor
//! ([`packed_float`](super::packed_float)).

use super::{ScaleError, checked, packed_float::truncate, positive};
use crate::{
    IntType, Per, Requantization, Step,
    form::{self, AscendDequantS16, DequantQuant},
};

/// The scales of operands and result of a convolution or a matrix product.
#[derive(Clone, Copy, Debug)]
pub struct Scales<'a> {
    /// The scale of the activation.
    pub input: f32,
    /// The scale of the weights.
    pub weight: &'a Per<f32>,
    /// The scale of the result.
    pub output: f32,
    /// True if the factor of the dequantization or requantization is truncated to 19 bits.
    pub packed: bool,
}

impl Scales<'_> {
    /// The factor of AscendDequant: `weight * input`.
    pub fn dequantization(&self) -> Result<Per<f32>, ScaleError> {
        positive("input scale", self.input.into())?;
        self.weight.try_map(|w| {
            positive("weight scale", f64::from(*w))?;
            self.keep(*w * self.input)
        })
    }

    /// The factor of AscendQuant: `1 / output`.
    pub fn quantization(&self) -> Result<f32, ScaleError> {
        positive("output scale", self.output.into())?;
        Ok(1.0 / self.output)
    }

    /// The factor of AscendRequant: the product of the dequantization's and the quantization's factors, truncated once.
    pub fn requantization(&self) -> Result<Per<f32>, ScaleError> {
        let quantization = self.quantization()?;
        let whole = Scales { packed: false, ..*self };
        whole.dequantization()?.try_map(|deq| self.keep(*deq * quantization))
    }

    fn keep(&self, scale: f32) -> Result<f32, ScaleError> {
        if self.packed { truncate(scale) } else { Ok(scale) }
    }
}

/// The form for AscendRequant.
pub fn requant(scales: &Scales<'_>, offset: i32, relu: bool, out: IntType) -> Result<Requantization, ScaleError> {
    checked(form::AscendRequant {
        scale: scales.requantization()?,
        offset,
        relu,
        out,
    })
}

/// Makes the form for the ops that ATC merges into one AscendRequant: AscendDequant, a ReLU if `relu` is set, and
/// AscendQuant.
pub fn dequant_quant(scales: &Scales<'_>, offset: i32, relu: bool, out: IntType) -> Result<Requantization, ScaleError> {
    checked(DequantQuant {
        deq: scales.dequantization()?,
        relu,
        scale: scales.quantization()?,
        offset,
        out,
    })
}

/// Makes the requantization that ATC's fusion makes from a dequantization and a quantization with `clamp` behind them.
/// Its factor is the product of their two factors in `f32`, truncated to 19 bits if the chip packs it. A clamp that
/// only cuts off numbers below real zero becomes the form's own ReLU, or is dropped if saturation at `offset` has the
/// same effect. Any other clamp stays as it is.
///
/// The result is not the same function as before: there is one rounding instead of three, and the offset is no longer
/// inside the last rounding. [`decide`](crate::decide) finds how much the functions differ on an interval.
pub fn merge(pair: &DequantQuant, clamp: Option<[i32; 2]>, packed: bool) -> Result<Step, ScaleError> {
    let DequantQuant { offset, out, .. } = *pair;
    let from_zero = clamp.is_some_and(|[low, high]| low == offset && high >= out.max());
    let factor = |deq: &f32| {
        let product = *deq * pair.scale;
        if packed { truncate(product) } else { Ok(product) }
    };
    let form = checked(form::AscendRequant {
        scale: pair.deq.try_map(factor)?,
        offset,
        relu: (pair.relu || from_zero) && offset > out.min(),
        out,
    })?;
    let clamp = clamp.filter(|_| !from_zero);
    Ok(Step { form, clamp })
}

/// Makes the two forms of the S16 pair with a shift of N: the first form narrows accumulators to 16 bits, and the
/// second requantizes the 16-bit integers to 8 bits by the factor `deq * quant * 2^N`.
pub fn s16(scales: &Scales<'_>, shift: u8, offset: i32, relu: bool) -> Result<[Requantization; 2], ScaleError> {
    let first = checked(AscendDequantS16 {
        shift: shift.into(),
        relu,
    })?;
    // N is at most 16, so the factor is an exact power of two.
    let back = 2f32.powi(shift.into());
    let scale = scales.requantization()?.map(|scale| scale * back);
    Ok([first, checked(form::AscendRequantS16 { scale, offset })?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scales(weight: &Per<f32>, packed: bool) -> Scales<'_> {
        Scales {
            input: 0.02,
            weight,
            output: 0.05,
            packed,
        }
    }

    #[test]
    fn the_packed_factor_is_the_truncated_one() {
        let weight = Per::Tensor(0.003);
        let scale = |packed| scales(&weight, packed).requantization().unwrap().values()[0];
        assert_eq!(scale(false), (0.003f32 * 0.02) * (1.0 / 0.05));
        assert_eq!(Ok(scale(true)), truncate(scale(false)));
        assert_ne!(scale(true), scale(false));
        assert!(scales(&Per::Tensor(0.0), false).requantization().is_err());
    }

    #[test]
    fn the_three_ways_differ_by_their_roundings_only() {
        let weight = Per::Tensor(0.003);
        let scales = scales(&weight, false);
        let one = requant(&scales, 5, true, IntType::I8).unwrap();
        let chain = dequant_quant(&scales, 5, true, IntType::I8).unwrap();
        let [first, second] = s16(&scales, 4, 5, true).unwrap();
        for x in -200_000..200_000 {
            let code = one.eval(0, x).unwrap();
            assert!(code.abs_diff(chain.eval(0, x).unwrap()) <= 1, "{x}");
            let half = first.eval(0, x).unwrap();
            // With a shift of four, sixteen bits can hold |x| < 2^19. The floor changes x by up to 16, which is 0.02 codes.
            assert!(code.abs_diff(second.eval(0, half.into()).unwrap()) <= 1, "{x}");
            assert!(code >= 5);
        }
        let Requantization::DequantQuant(pair) = dequant_quant(&scales, 5, false, IntType::I8).unwrap() else {
            panic!()
        };
        // A clamp that begins at the code of real zero becomes the flag for ReLU. The flag is also set without a clamp
        // if saturation has the same effect.
        assert_eq!(merge(&pair, Some([5, 127]), false), Ok(one.into()));
        let plain = requant(&scales, 5, false, IntType::I8).unwrap();
        assert_eq!(merge(&pair, None, false), Ok(plain.clone().into()));
        let clamp = Some([5, 100]);
        assert_eq!(merge(&pair, clamp, false), Ok(Step { form: plain, clamp }));
        let lowest = DequantQuant {
            offset: -128,
            relu: true,
            ..pair
        };
        let merged = merge(&lowest, None, false).unwrap();
        assert!(matches!(&merged.form, Requantization::AscendRequant(f) if !f.relu));
        assert_eq!(merged.eval(0, -1_000_000), Ok(-128));
        assert!(s16(&scales, 17, 0, false).is_err() && s16(&scales, 0, 0, false).is_err());
        assert!(requant(&scales, 256, false, IntType::I8).is_err());
    }
}
