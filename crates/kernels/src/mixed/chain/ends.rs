//! What chains do with a vector of sums in a register, on AVX-512.

use super::Activation;
use super::narrowing::Narrowing;
use super::silu_of_sums::{EXP2, SiluOfSums};
use crate::integer::batch::Constants;
use crate::simd::{I32s, silu};
use std::arch::x86_64::*;

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

impl Ends<3> for SiluOfSums {
    const REALS: bool = false;

    fn constants(&self) -> &Constants<3> {
        &self.constants
    }

    #[inline(always)]
    unsafe fn lanes(&self, &[factor, exponent, _]: &[__m512i; 3], sums: __m512i) -> (__m512i, u16) {
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
