//! Elementary functions.
//!
//! Strait has functions of its own, because the functions of C libraries differ in the last bit from one machine to the
//! next. Strait's functions compute in f64, without branches, and use only integer operations and IEEE addition,
//! multiplication, division, square root and fused multiply-add. The result is rounded to f32 once. The functions of
//! [`Unary`] are off by at most 0.51 units in the last place.

use crate::context::Context;
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len},
    parallel::for_each_chunk,
    simd::Simd,
};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// An elementary function of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// e^x
    Exp,
    /// The natural logarithm; NaN for numbers below zero.
    Log,
    /// The square root, correctly rounded.
    Sqrt,
    /// The error function 2/√π ∫₀ˣ e^(−t²) dt.
    Erf,
    /// The hyperbolic tangent.
    Tanh,
    /// 1 / (1 + e^−x)
    Sigmoid,
    /// x / (1 + e^−x)
    Silu,
    /// ln(1 + e^x)
    Softplus,
}

/// Applies a function to each element.
///
/// # Errors
/// [`KernelError::Shape`] if the slices differ in length.
pub fn unary(cx: &Context, function: Unary, input: &[f32], out: &mut [f32]) -> Result<(), KernelError> {
    expect_len("the output", out.len(), Some(input.len()))?;
    const PIECE: usize = 4096;
    for_each_chunk(out, PIECE, input.len().saturating_mul(16), |i, out| {
        cx.run(UnaryJob {
            function,
            input: &input[i * PIECE..i * PIECE + out.len()],
            out,
        });
    });
    Ok(())
}

struct UnaryJob<'a> {
    function: Unary,
    input: &'a [f32],
    out: &'a mut [f32],
}

impl UnaryJob<'_> {
    #[inline(always)]
    fn map(self, function: impl Fn(f32) -> f32) {
        self.out.iter_mut().zip(self.input).for_each(|(y, &x)| *y = function(x));
    }
}

impl Job for UnaryJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        match self.function {
            Unary::Exp => self.map(exp),
            Unary::Log => self.map(|x| ln64(f64::from(x)) as f32),
            Unary::Sqrt => self.map(f32::sqrt),
            Unary::Erf => self.map(|x| erf64(f64::from(x)) as f32),
            Unary::Tanh => self.map(tanh),
            Unary::Sigmoid => self.map(|x| (1.0 / (1.0 + exp64(-f64::from(x)))) as f32),
            Unary::Silu => self.map(silu32),
            Unary::Softplus => self.map(|x| softplus(f64::from(x)) as f32),
        }
    }
}

/// Computes x^y. If y is a whole number with |y| ≤ 64, x^y is computed as a product, so x may be negative. For any
/// other y, a negative x gives NaN. x^0 is 1.
pub fn pow(x: f32, y: f32) -> f32 {
    let base = f64::from(x);
    if y.abs() > 64.0 || y % 1.0 != 0.0 {
        return exp64(f64::from(y) * ln64(base)) as f32;
    }
    let (mut product, mut square, mut left) = (1.0, base, y.abs() as u32);
    while left > 0 {
        if left % 2 == 1 {
            product *= square;
        }
        square *= square;
        left /= 2;
    }
    (if y < 0.0 { 1.0 / product } else { product }) as f32
}

/// e^x. Softmax uses this function, too.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    exp64(f64::from(x)) as f32
}

/// Σ coefficients[i] · x^(n − i), by Horner's rule with fused multiply-adds.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: [f64; N], x: f64) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, c| x.mul_add(sum, c))
}

/// e^x. With x = n·ln 2 + r and |r| ≤ ½ ln 2, e^x = 2^n · e^r. e^r is computed as its Taylor series up to r^10
/// (relative error below 3e-13). x is first limited to the range from −708 to 708. At the ends of this range, the
/// result is already far below the smallest, or far above the largest, f32.
#[inline(always)]
fn exp64(x: f64) -> f64 {
    // 1.5·2^52. When it is added to x, the nearest integer is in the low bits of the sum.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const TAYLOR: [f64; 11] = [
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    // These are comparisons and not `clamp`, `max` or `min`, so that a NaN stays a NaN.
    let x = if x > 708.0 { 708.0 } else { x };
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x.mul_add(LOG2_E, MAGIC);
    let n = shifted - MAGIC;
    let r = n.mul_add(-LN_2, x);
    let power = f64::from_bits(shifted.to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add(1023) << 52);
    polynomial(TAYLOR, r) * power
}

/// ln x. With x = 2^e·m and m in [√½, √2), ln x = e·ln 2 + 2·artanh(s), where s = (m − 1)/(m + 1) and |s| ≤ 0.172.
/// artanh(s) is computed as the series s + s³/3 + … + s¹⁷/17 (relative error below 1e-14). The function is right for
/// every normal f64, and every positive f32 is a normal f64.
#[inline(always)]
fn ln64(x: f64) -> f64 {
    const SERIES: [f64; 9] = [
        1.0 / 17.0,
        1.0 / 15.0,
        1.0 / 13.0,
        1.0 / 11.0,
        1.0 / 9.0,
        1.0 / 7.0,
        0.2,
        1.0 / 3.0,
        1.0,
    ];
    const SQRT_HALF_BITS: u64 = FRAC_1_SQRT_2.to_bits();
    // After the bits of √½ are subtracted, the exponent field is e, because m is in [√½, √2).
    let above = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let exponent = (above.cast_signed() >> 52) as f64;
    let mantissa = f64::from_bits((above & ((1 << 52) - 1)).wrapping_add(SQRT_HALF_BITS));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let finite = exponent.mul_add(LN_2, 2.0 * s * polynomial(SERIES, s * s));
    let limited = if x == 0.0 { f64::NEG_INFINITY } else { finite };
    let limited = if x == f64::INFINITY { x } else { limited };
    if x >= 0.0 { limited } else { f64::NAN }
}

/// erf(x) = x·P(x²), where the polynomial P(t) is the Chebyshev interpolation of erf(√t)/√t on [0, 16] (absolute error
/// 3e-11). If |x| is larger than 4, erf(x) is so close to ±1 that the nearest f32 is ±1.
#[inline(always)]
fn erf64(x: f64) -> f64 {
    const P: [f64; 20] = [
        -2.467_942_224_596_749_3e-22,
        4.291_154_973_743_684e-20,
        -3.512_879_090_041_45e-18,
        1.805_672_482_167_276e-16,
        -6.565_303_002_021_233_5e-15,
        1.806_426_877_908_750_7e-13,
        -3.937_141_971_670_121e-12,
        7.039_689_639_777_082e-11,
        -1.062_885_671_809_022e-9,
        1.387_855_843_767_268_7e-8,
        -1.595_571_905_894_141_3e-7,
        1.632_138_368_606_861_7e-6,
        -1.488_893_842_084_115_7e-5,
        0.000_120_482_599_493_811_73,
        -0.000_854_735_984_788_583_1,
        0.005_223_888_961_565_784,
        -0.026_866_120_679_218_085,
        0.112_837_901_735_369_03,
        -0.376_126_387_241_359_6,
        1.128_379_167_059_746_5,
    ];
    let inside = x * polynomial(P, x * x);
    let above = if x > 4.0 { 1.0 } else { inside };
    if x < -4.0 { -1.0 } else { above }
}

/// tanh(x) = (e^2x − 1) / (e^2x + 1). Near zero, the subtraction would lose digits, so tanh(x) = x − x³/3 + 2x⁵/15 −
/// 17x⁷/315 is used there.
#[inline(always)]
fn tanh(x: f32) -> f32 {
    let x = f64::from(x);
    let e = exp64(2.0 * x);
    let square = x * x;
    let near_zero = x * polynomial([-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0], square);
    (if square < 1.0 / 4096.0 {
        near_zero
    } else {
        (e - 1.0) / (e + 1.0)
    }) as f32
}

/// The function [`Unary::Silu`].
#[inline(always)]
pub(crate) fn silu32(x: f32) -> f32 {
    silu(f64::from(x)) as f32
}

/// x / (1 + e^−x). For −∞ the result is the limit, 0.
#[inline(always)]
fn silu(x: f64) -> f64 {
    if x < -708.0 { -0.0 } else { x / (1.0 + exp64(-x)) }
}

/// softplus(x) = max(x, 0) + ln(1 + e), where e = e^−|x|. Let w be 1 + e, rounded. ln(1 + e) is computed as ln w + (e −
/// (w − 1))/w. The second term makes up for the digits of a small e that were lost when w was rounded.
#[inline(always)]
fn softplus(x: f64) -> f64 {
    let e = exp64(-x.abs());
    let w = 1.0 + e;
    let positive = if x < 0.0 { 0.0 } else { x };
    positive + ln64(w) + (e - (w - 1.0)) / w
}
