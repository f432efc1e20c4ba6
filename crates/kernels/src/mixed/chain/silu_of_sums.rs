//! SiLU of dequantized sums, quantized to 8 bits, with few operations for each sum.
//!
//! With the scale s of a sum q and the factor f of the quantization, the number before rounding is
//! f·s·q / (1 + 2^(−s·q·log₂ e)). The constants f·s and −s·log₂ e are computed beforehand, and the power of 2 is an
//! approximation. If the number is too near to a tie, the result is computed as it is defined. Where the operand of SiLU is
//! not a sum of 32 bits, or is the sum of two operands, the approximation is that of
//! [`silu_codes`](super::activation::silu_codes), which takes the real number.

use super::FloatChain;
use super::activation::{Activation, MAGIC};
use super::narrowing::Narrowing;
use crate::integer::batch::{Constants, Kernel};
use crate::simd::I32s;
use strait_requantize::{IntType, quantize::Dequantization};

/// SiLU of dequantized sums of 32 bits, quantized to 8 bits.
pub(super) struct SiluOfSums {
    /// The factor of the sums in the codes, that in the exponent of 2, and the scale of the sums.
    pub(super) constants: Constants<3>,
    /// The number that is added to round to an integer, together with what the quantization adds before rounding.
    pub(super) inside: f32,
    /// The number that is added to the bits of the rounded number to get the code.
    pub(super) after: i32,
    /// How far from an integer a number may be whose code is certain.
    pub(super) certain: f32,
    narrowing: Narrowing,
}

/// 2^r for |r| ≤ ½, with a relative error of 2.6·10^−6, from the highest power of r down.
pub(super) const EXP2: [f32; 5] = [0.009_570_102, 0.055_917_86, 0.240_247_45, 0.693_121_8, 0.999_999_3];

/// Exponents are limited to these, since the whole part is added to the bits of the power's exponent, and the power has to stay
/// a normal f32. Beyond them, the divisor is so near to 1, or SiLU so near to 0, that the code stays the same.
const EXPONENTS: [f32; 2] = [-125.0, 126.0];

impl SiluOfSums {
    /// `None` if the chain computes something else, or if approximations do not give its codes. The zero points have to be 0.
    pub(super) fn new(chain: &FloatChain) -> Option<SiluOfSums> {
        const SMALLEST: f32 = 1.0 / (1_u64 << 60) as f32;
        const LARGEST: f32 = (1_u64 << 20) as f32;
        // Then the codes of negative numbers are at most 126 from the zero point, because SiLU is at least −0.28.
        const LARGEST_FACTOR: f32 = 450.0;
        let ([Some(grids)], Activation::Silu, Some(narrowing)) =
            (&chain.operands[..], chain.activation, chain.narrowing)
        else {
            return None;
        };
        let factor = narrowing.factor().filter(|_| narrowing.is_byte())?;
        let inside = |x: f32, largest: f32| (SMALLEST..=largest).contains(&x);
        let of = grids.per();
        if grids.element != IntType::I32
            || !inside(factor, LARGEST_FACTOR)
            || !of.all(|d| d.zero_point == 0 && inside(d.scale, LARGEST))
        {
            return None;
        }
        let constants = |d: &Dequantization| {
            let scale = f64::from(d.scale);
            let all = [scale * f64::from(factor), -scale * std::f64::consts::LOG2_E, scale];
            all.map(|x| (x as f32).to_bits() as i32)
        };
        let values: Vec<_> = of.values().iter().map(constants).collect();
        Some(SiluOfSums {
            constants: Constants::new(&values, of.channels().is_none()),
            inside: MAGIC + narrowing.quantization.inside,
            after: narrowing.quantization.after.wrapping_sub(MAGIC.to_bits().cast_signed()),
            certain: 0.5 - tolerance(factor),
            narrowing,
        })
    }

    /// The codes as they are defined, not yet saturated. `x` are the real numbers.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn defined<V: I32s>(&self, x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { self.narrowing.vectors::<V>().code(Activation::Silu.one(x)) }
    }
}

/// How far the approximation and the definition may be from each other, before they are rounded to an integer.
///
/// A relative error of e^−x changes SiLU by at most 0.224 times as much, because x·σ(x)·(1 − σ(x)) is never larger. This error
/// is 2.8·10^−6, and |x|·2^−23 for the rounded exponent, which changes SiLU by at most 0.44·2^−23. The definition's x is rounded
/// too, which changes SiLU by at most 0.44·2^−24. Together they are below 7.5·10^−7, and they are multiplied by `factor`, as SiLU
/// is. Relative errors of the numbers themselves are those of roundings: four of the definition and four of the approximation,
/// of 2^−24 each. Numbers that do not saturate are at most 256 from the zero point, because it is a code.
fn tolerance(factor: f32) -> f32 {
    1.0 / 6000.0 + factor * 1e-6
}

impl Kernel<3> for SiluOfSums {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor, exponent, scale]: &[V; 3], sums: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let number = |x: f32| V::splat(x.to_bits() as i32);
            let sums = sums.to_f32();
            let exponent = number(EXPONENTS[0]).max_f32(sums.multiply_f32(exponent));
            let exponent = number(EXPONENTS[1]).min_f32(exponent);
            let whole = exponent.add_f32(number(MAGIC));
            let rest = exponent.subtract_f32(whole.subtract_f32(number(MAGIC)));
            let mut power = number(EXP2[0]);
            for &next in &EXP2[1..] {
                power = number(next).add_product_f32(power, rest);
            }
            // The low bits of `whole` are the integer, and all others are lost.
            let divisor = power.add(whole.to_exponent()).add_f32(number(1.0));
            let scaled = sums.multiply_f32(factor).divide_f32(divisor);
            // The low bits of `shifted` are the integer. If the number is so large that they are not, it saturates anyway.
            let shifted = scaled.add_f32(number(self.inside));
            let distance = scaled.subtract_f32(shifted.subtract_f32(number(self.inside)));
            match distance.and(V::splat(i32::MAX)).all_below_f32(number(self.certain)) {
                true => shifted.add(V::splat(self.after)),
                false => self.defined(sums.multiply_f32(scale)),
            }
        }
    }
}
