//! SiLU with the bits of its definition, eight numbers at a time; see [`silu`](super::silu()).

use super::silu::{EXP, FAR, HALF, MAGIC, NEAR, POWERS, SMALL};
use std::arch::x86_64::*;

/// x / (1 + e^−x), or `None` if a lane may differ from the definition.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[inline(always)]
pub(super) unsafe fn silu_eight(x: __m256) -> Option<__m256> {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let (size, zero) = (_mm256_andnot_ps(_mm256_set1_ps(-0.0), x), _mm256_setzero_ps());
        let far = _mm256_cmp_ps::<_CMP_NLT_UQ>(size, _mm256_set1_ps(FAR));
        let small = _mm256_cmp_ps::<_CMP_LT_OQ>(size, _mm256_set1_ps(SMALL));
        let small = _mm256_and_ps(small, _mm256_cmp_ps::<_CMP_NEQ_OQ>(x, zero));
        let low = four(_mm256_castps256_ps128(x));
        let high = four(_mm256_extractf128_ps::<1>(x));
        // The low halves of all f64. Their order does not matter.
        let rest = _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castpd_ps(low), _mm256_castpd_ps(high));
        let rest = _mm256_sub_epi32(_mm256_castps_si256(rest), _mm256_set1_epi32(HALF - NEAR));
        let rest = _mm256_and_si256(rest, _mm256_set1_epi32(2 * HALF - 1));
        // The numbers are not negative, so they can be compared as signed ones.
        let near = _mm256_cmpgt_epi32(_mm256_set1_epi32(2 * NEAR + 1), rest);
        let uncertain = _mm256_or_ps(_mm256_or_ps(far, small), _mm256_castsi256_ps(near));
        let y = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
        (_mm256_movemask_ps(uncertain) == 0).then_some(y)
    }
}

/// The same for four numbers with |x| < 80, before they are rounded to f32.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[inline(always)]
unsafe fn four(x: __m128) -> __m256d {
    // SAFETY: the caller guarantees the instruction set. Each index into the table has four bits.
    unsafe {
        let number = |x: f64| _mm256_set1_pd(x);
        let x = _mm256_cvtps_pd(x);
        // −x = k·ln 2 / 16 + r
        let shifted = _mm256_fmadd_pd(x, number(-16.0 * std::f64::consts::LOG2_E), number(MAGIC));
        let k = _mm256_sub_pd(shifted, number(MAGIC));
        let r = _mm256_fnmsub_pd(k, number(std::f64::consts::LN_2 / 16.0), x);
        let bits = _mm256_castpd_si256(shifted);
        let index = _mm256_and_si256(bits, _mm256_set1_epi64x(15));
        let power = _mm256_i64gather_epi64::<8>(POWERS.as_ptr().cast(), index);
        let power = _mm256_add_epi64(power, _mm256_slli_epi64::<48>(bits));
        let mut sum = number(EXP[0]);
        for power in &EXP[1..] {
            sum = _mm256_fmadd_pd(sum, r, number(*power));
        }
        _mm256_div_pd(x, _mm256_fmadd_pd(_mm256_castsi256_pd(power), sum, number(1.0)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;
    use crate::float::silu32;

    #[target_feature(enable = "avx2,fma")]
    fn all(numbers: &[f32; 8]) -> Option<[f32; 8]> {
        let mut found = [0.0; 8];
        // SAFETY: this function enables the instruction set, and the arrays have eight numbers.
        unsafe {
            silu_eight(_mm256_loadu_ps(numbers.as_ptr())).map(|y| {
                _mm256_storeu_ps(found.as_mut_ptr(), y);
                found
            })
        }
    }

    #[test]
    fn eight_numbers_have_the_bits_of_the_definition() {
        if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
            return;
        }
        let mut certain = 0;
        // Each eighth has another exponent, so that every lane gets numbers of every size.
        for start in (0..u32::MAX / 8).step_by(1021) {
            let numbers = std::array::from_fn(|i| f32::from_bits(start.wrapping_add(i as u32 * (u32::MAX / 8))));
            // SAFETY: the machine has the instruction set.
            let found = unsafe { all(&numbers.map(|x| if x.abs() < FAR && x.abs() > SMALL { x } else { 0.5 })) };
            for (i, found) in found.into_iter().flatten().enumerate() {
                let x = if numbers[i].abs() < FAR && numbers[i].abs() > SMALL {
                    numbers[i]
                } else {
                    0.5
                };
                assert_eq!(found.to_bits(), silu32(x).to_bits(), "{x:e}");
                certain += 1;
            }
        }
        assert!(certain > 3_000_000, "{certain}");
        for other in [f32::NAN, f32::INFINITY, -f32::INFINITY, FAR, -1e30, 1e-40] {
            // SAFETY: as above.
            assert!(unsafe { all(&[1.0, 2.0, 3.0, other, 5.0, 6.0, 7.0, 8.0]) }.is_none());
        }
        // SAFETY: as above.
        let zeros = unsafe { all(&[0.0, -0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]) }.unwrap();
        assert_eq!(zeros[1].to_bits(), silu32(-0.0).to_bits());
    }
}
