//! SiLU with the bits of its definition, sixteen numbers at a time.
//!
//! The definition computes x / (1 + e^−x) in f64, with an error of at most 3.1·10^−13, and rounds it to f32. Here the same
//! number is computed with fewer instructions. If the f64 is not near to the middle between two neighbouring f32, both are
//! rounded to the same f32.

use std::arch::x86_64::*;

/// 1.5·2^52. When it is added to a small f64, the nearest integer is in the low bits of the sum.
pub(super) const MAGIC: f64 = (3_u64 << 51) as f64;
/// 2^(i/16), as bits from which the bits of i are subtracted where they are after a shift to the left by 48.
const POWERS: [u64; 16] = {
    const BITS: [u64; 16] = [
        0x3ff0_0000_0000_0000,
        0x3ff0_b558_6cf9_890f,
        0x3ff1_72b8_3c7d_517b,
        0x3ff2_387a_6e75_6238,
        0x3ff3_06fe_0a31_b715,
        0x3ff3_dea6_4c12_3422,
        0x3ff4_bfda_d536_2a27,
        0x3ff5_ab07_dd48_5429,
        0x3ff6_a09e_667f_3bcd,
        0x3ff7_a114_73eb_0187,
        0x3ff8_ace5_422a_a0db,
        0x3ff9_c491_82a3_f090,
        0x3ffa_e89f_995a_d3ad,
        0x3ffc_199b_dd85_529c,
        0x3ffd_5818_dcfb_a487,
        0x3ffe_a4af_a2a4_90da,
    ];
    let mut powers = BITS;
    let mut i = 1;
    while i < 16 {
        powers[i] = BITS[i].wrapping_sub((i as u64) << 48);
        i += 1;
    }
    powers
};
/// e^r for |r| ≤ ln 2 / 32, with a relative error of 2.5·10^−12, from the highest power of r down.
const EXP: [f64; 5] = [
    0.041_665_851_943_203_5,
    0.166_671_554_930_706_77,
    0.500_000_000_669_084_9,
    0.999_999_999_426_544,
    0.999_999_999_999_955_1,
];
/// Numbers of at least this magnitude are left to the definition, and so are numbers below the other one, except 0: their
/// results may be subnormal.
pub(super) const FAR: f32 = 80.0;
pub(super) const SMALL: f32 = 1.0 / (1_u128 << 100) as f32;
/// Half the distance between neighbouring f32, and how near to it the rest of an f64 may be, both in units of an f64's last
/// place. The two f64 differ by at most 3·10^−12: the polynomial and the definition have 2.8·10^−12, and all roundings 2^−50.
/// That is less than 2^−38, or 2^15 units for a mantissa near 2.
pub(super) const HALF: i32 = 1 << 28;
pub(super) const NEAR: i32 = 1 << 16;

/// x / (1 + e^−x), and the lanes in which it may differ from the definition.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
pub(crate) unsafe fn silu(x: __m512) -> (__m512, u16) {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let (size, zero) = (_mm512_abs_ps(x), _mm512_setzero_ps());
        let far = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(size, _mm512_set1_ps(FAR));
        let small = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(size, _mm512_set1_ps(SMALL));
        let small = _mm512_mask_cmp_ps_mask::<_CMP_NEQ_OQ>(small, x, zero);
        let low = half(_mm512_castps512_ps256(x));
        let high = half(_mm512_extractf32x8_ps::<1>(x));
        let (low_bits, high_bits) = (_mm512_castpd_si512(low), _mm512_castpd_si512(high));
        // The low halves of all f64.
        let rest = _mm512_permutex2var_epi32(low_bits, _mm512_loadu_si512(EVEN.as_ptr().cast()), high_bits);
        let rest = _mm512_sub_epi32(rest, _mm512_set1_epi32(HALF - NEAR));
        let rest = _mm512_and_si512(rest, _mm512_set1_epi32(2 * HALF - 1));
        let near = _mm512_cmple_epu32_mask(rest, _mm512_set1_epi32(2 * NEAR));
        let y = _mm512_castps256_ps512(_mm512_cvtpd_ps(low));
        let y = _mm512_insertf32x8::<1>(y, _mm512_cvtpd_ps(high));
        (y, far | small | near)
    }
}

/// The even elements of two vectors, one after the other.
const EVEN: [i32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];

/// The same for eight numbers with |x| < 80, before they are rounded to f32.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
unsafe fn half(x: __m256) -> __m512d {
    // SAFETY: the caller guarantees the instruction set. The loads read the two halves of the table.
    unsafe {
        let number = |x: f64| _mm512_set1_pd(x);
        let x = _mm512_cvtps_pd(x);
        // −x = k·ln 2 / 16 + r
        let shifted = _mm512_fmadd_pd(x, number(-16.0 * std::f64::consts::LOG2_E), number(MAGIC));
        let k = _mm512_sub_pd(shifted, number(MAGIC));
        let r = _mm512_fnmsub_pd(k, number(std::f64::consts::LN_2 / 16.0), x);
        let bits = _mm512_castpd_si512(shifted);
        let [front, back] = [0, 8].map(|at| _mm512_loadu_si512(POWERS.as_ptr().add(at).cast()));
        let power = _mm512_permutex2var_epi64(front, bits, back);
        let power = _mm512_add_epi64(power, _mm512_slli_epi64::<48>(bits));
        let mut sum = number(EXP[0]);
        sum = _mm512_fmadd_pd(sum, r, number(EXP[1]));
        sum = _mm512_fmadd_pd(sum, r, number(EXP[2]));
        sum = _mm512_fmadd_pd(sum, r, number(EXP[3]));
        sum = _mm512_fmadd_pd(sum, r, number(EXP[4]));
        _mm512_div_pd(x, _mm512_fmadd_pd(_mm512_castsi512_pd(power), sum, number(1.0)))
    }
}
