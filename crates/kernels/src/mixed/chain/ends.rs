//! What chains do with a vector of sums in a register, on AVX-512.

use super::Activation;
use super::activation::MAGIC;
use super::narrowing::Narrowing;
use crate::integer::batch::Constants;
use crate::simd::{I32s, silu};
use std::arch::x86_64::*;
use strait_requantize::{Per, quantize::Dequantization};

/// Computes vectors of results from vectors of sums.
pub(super) trait Ends<const C: usize>: Send + Sync {
    /// True if the results are real numbers. Otherwise, they are codes of 8 bits that are not saturated yet.
    const REALS: bool;

    /// The constants of all channels.
    fn constants(&self) -> &Constants<C>;

    /// The results, and the lanes in which they may differ from the definition.
    ///
    /// # Safety
    /// The machine must have AVX-512.
    unsafe fn lanes(&self, of: &[__m512i; C], sums: __m512i) -> (__m512i, u16);
}

/// Functions that vectors compute as they are defined.
pub(super) struct Plain<const REALS: bool> {
    pub(super) constants: Constants<2>,
    pub(super) activation: Activation,
    pub(super) narrowing: Option<Narrowing>,
}

impl<const REALS: bool> Ends<2> for Plain<REALS> {
    const REALS: bool = REALS;

    fn constants(&self) -> &Constants<2> {
        &self.constants
    }

    #[inline(always)]
    unsafe fn lanes(&self, &[negative, scale]: &[__m512i; 2], sums: __m512i) -> (__m512i, u16) {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let y = self.activation.one(sums.add(negative).to_f32().multiply_f32(scale));
            match &self.narrowing {
                Some(narrowing) if !REALS => (narrowing.vectors::<__m512i>().code(y), 0),
                _ => (y, 0),
            }
        }
    }
}

/// SiLU of dequantized sums, as real numbers.
pub(super) struct SiluReals(pub(super) Constants<2>);

impl Ends<2> for SiluReals {
    const REALS: bool = true;

    fn constants(&self) -> &Constants<2> {
        &self.0
    }

    #[inline(always)]
    unsafe fn lanes(&self, &[negative, scale]: &[__m512i; 2], sums: __m512i) -> (__m512i, u16) {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = sums.add(negative).to_f32().multiply_f32(scale);
            let (y, uncertain) = silu(_mm512_castsi512_ps(x));
            (_mm512_castps_si512(y), uncertain)
        }
    }
}

/// SiLU of dequantized sums, quantized to 8 bits.
pub(super) struct SiluCodes {
    /// The factor of the sums in the codes, and that in the exponent of 2.
    constants: Constants<2>,
    inside: f32,
    after: i32,
    /// How far from an integer a number may be whose code is certain.
    certain: f32,
}

/// 2^r for |r| ≤ ½, with a relative error of 2.6·10^−6, from the highest power of r down.
const EXP2: [f32; 5] = [0.009_570_102, 0.055_917_86, 0.240_247_45, 0.693_121_8, 0.999_999_3];

impl SiluCodes {
    /// `None` if approximations do not give the codes of this quantization. The zero points have to be 0.
    pub(super) fn new(of: &Per<Dequantization>, narrowing: &Narrowing) -> Option<SiluCodes> {
        const SMALLEST: f32 = 1.0 / (1_u64 << 60) as f32;
        const LARGEST: f32 = (1_u64 << 20) as f32;
        // Then the codes of negative numbers are at most 126 from the zero point, because SiLU is at least −0.28.
        const LARGEST_FACTOR: f32 = 450.0;
        let factor = narrowing.factor().filter(|_| narrowing.is_byte())?;
        let inside = |x: f32, largest: f32| (SMALLEST..=largest).contains(&x);
        if !inside(factor, LARGEST_FACTOR) || !of.all(|d| d.zero_point == 0 && inside(d.scale, LARGEST)) {
            return None;
        }
        let constants = |d: &Dequantization| {
            let scale = f64::from(d.scale);
            let both = [scale * f64::from(factor), -scale * std::f64::consts::LOG2_E];
            both.map(|x| (x as f32).to_bits() as i32)
        };
        let values: Vec<_> = of.values().iter().map(constants).collect();
        Some(SiluCodes {
            constants: Constants::new(&values, of.channels().is_none()),
            inside: MAGIC + narrowing.quantization.inside,
            after: narrowing.quantization.after.wrapping_sub(MAGIC.to_bits().cast_signed()),
            certain: 0.5 - tolerance(factor),
        })
    }
}

/// How far the approximation and the definition may be from each other, before they are rounded to an integer.
///
/// A relative error of e^−x changes SiLU by at most 0.224 times as much, because x·σ(x)·(1 − σ(x)) is never larger. This error
/// is 2.8·10^−6, and |x|·2^−23 for the rounded exponent, which changes SiLU by at most 0.44·2^−23. Together they are below
/// 7·10^−7, and they are multiplied by `factor`, as SiLU is. Relative errors of the numbers themselves are those of
/// roundings: four of the definition and four of the approximation, of 2^−24 each. Numbers that do not saturate are at most 256
/// from the zero point.
fn tolerance(factor: f32) -> f32 {
    1.0 / 6000.0 + factor * 1e-6
}

impl Ends<2> for SiluCodes {
    const REALS: bool = false;

    fn constants(&self) -> &Constants<2> {
        &self.constants
    }

    #[inline(always)]
    unsafe fn lanes(&self, &[factor, exponent]: &[__m512i; 2], sums: __m512i) -> (__m512i, u16) {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let number = |x: f32| _mm512_set1_ps(x);
            let sums = _mm512_cvtepi32_ps(sums);
            let exponent = _mm512_mul_ps(sums, _mm512_castsi512_ps(exponent));
            let whole = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(exponent);
            let rest = _mm512_sub_ps(exponent, whole);
            let mut power = number(EXP2[0]);
            power = _mm512_fmadd_ps(power, rest, number(EXP2[1]));
            power = _mm512_fmadd_ps(power, rest, number(EXP2[2]));
            power = _mm512_fmadd_ps(power, rest, number(EXP2[3]));
            power = _mm512_fmadd_ps(power, rest, number(EXP2[4]));
            // If the power is beyond the range of f32, it is 0, or infinite. The quotient is then −0.
            let divisor = _mm512_add_ps(_mm512_scalef_ps(power, whole), number(1.0));
            let scaled = _mm512_div_ps(_mm512_mul_ps(sums, _mm512_castsi512_ps(factor)), divisor);
            // The low bits of the sum are the integer. If the number is so large that they are not, it saturates anyway.
            let shifted = _mm512_add_ps(scaled, number(self.inside));
            let distance = _mm512_sub_ps(scaled, _mm512_sub_ps(shifted, number(self.inside)));
            let uncertain = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(distance), number(self.certain));
            let codes = _mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(self.after));
            (codes, uncertain)
        }
    }
}
