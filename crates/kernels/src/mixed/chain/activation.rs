//! The function between the operands of a chain and its results.

use super::narrowing::Narrow;
use crate::float::silu32;
use crate::integer::batch::WIDEST;
use crate::simd::I32s;

/// A function of one real number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// x
    Identity,
    /// 0 for x < 0, and x otherwise. NaN and −0 stay as they are.
    Relu,
    /// x, limited to at least the first and at most the second number. NaN stays NaN.
    Clip([f32; 2]),
    /// x / (1 + e^−x), as [`Unary::Silu`](crate::float::Unary::Silu)
    Silu,
}

impl Activation {
    /// The function of one number.
    #[inline(always)]
    pub(super) fn eval(self, x: f32) -> f32 {
        match self {
            Activation::Identity => x,
            Activation::Relu if x < 0.0 => 0.0,
            Activation::Relu => x,
            Activation::Clip([min, max]) => {
                let above = if x < min { min } else { x };
                if above > max { max } else { above }
            }
            Activation::Silu => silu32(x),
        }
    }

    /// The function of some vectors.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn of<V: I32s, const N: usize>(self, mut x: [V; N]) -> [V; N] {
        for x in &mut x {
            // SAFETY: the caller upholds the safety contract of this method.
            *x = unsafe { self.one(*x) };
        }
        x
    }

    /// The function of one vector.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn one<V: I32s>(self, x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            match self {
                Activation::Identity => x,
                Activation::Relu => V::splat(0).max_f32(x),
                Activation::Clip(ends) => {
                    let (min, max) = (V::splat(ends[0].to_bits() as i32), V::splat(ends[1].to_bits() as i32));
                    max.min_f32(min.max_f32(x))
                }
                Activation::Silu => silu(x),
            }
        }
    }
}

/// The function [`Unary::Silu`](crate::float::Unary::Silu) of one vector.
///
/// # Safety
/// The machine must have the instruction set of the vectors `V`.
#[inline(always)]
unsafe fn silu<V: I32s>(x: V) -> V {
    // SAFETY: the caller upholds the safety contract of this function. Stores and loads stay inside of the array.
    unsafe {
        if let Some(y) = x.silu_f32() {
            return y;
        }
        let mut numbers = [0.0_f32; WIDEST];
        x.store(numbers.as_mut_ptr().cast());
        numbers[..V::LANES].iter_mut().for_each(|x| *x = silu32(*x));
        V::load(numbers.as_ptr().cast())
    }
}

/// log₂ e, and ln 2 as a number with few bits and the rest of it.
const LOG2_E: f32 = std::f32::consts::LOG2_E;
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// When 1.5·2^23 is added to an f32 of up to 2^22, the sum is rounded to an integer.
pub(super) const MAGIC: f32 = (3 << 22) as f32;
/// e^r for |r| ≤ ½ ln 2, with a relative error of at most 2^−25, as a polynomial in −r.
const POWERS: [f32; 7] = [
    0.001_383_679_3,
    -0.008_374_857,
    0.041_668_23,
    -0.166_664_2,
    0.499_999_9,
    -1.0,
    1.0,
];
/// Below this number, x / (1 + e^−x) is so near to 0 that its code is that of 0.
const LOWEST: f32 = -87.0;

/// An approximation of x / (1 + e^−x) in f32, whose relative error is at most 2^−22.4 (all f32 from −87 up were compared). For
/// smaller x, it is between −10^−35 and 0. NaN stays NaN.
///
/// # Safety
/// The machine must have the instruction set of the vectors `V`.
#[inline(always)]
unsafe fn near_silu<V: I32s>(x: V) -> V {
    // SAFETY: the caller upholds the safety contract of this function.
    unsafe {
        let number = |x: f32| V::splat(x.to_bits() as i32);
        let x = number(LOWEST).max_f32(x);
        let near = number(-LOWEST).min_f32(x);
        // −x = n·ln 2 + r; `rest` is −r.
        let shifted = number(MAGIC).add_product_f32(number(-LOG2_E), near);
        let n = shifted.subtract_f32(number(MAGIC));
        let rest = near
            .add_product_f32(n, number(LN_2[0]))
            .add_product_f32(n, number(LN_2[1]));
        let mut sum = number(POWERS[0]);
        for &power in &POWERS[1..] {
            sum = number(power).add_product_f32(sum, rest);
        }
        // The low bits of `shifted` are n, and all others are lost.
        let power = sum.add(shifted.to_exponent());
        x.divide_f32(number(1.0).add_f32(power))
    }
}

/// How near to a tie a number of 8 bits may be so that its approximation is rounded to the same integer. Numbers that do not
/// saturate are at most 257 from the zero point, so an approximation is off by at most 257·2^−21, and each of the roundings of
/// both ways (two each, and that of the definition's result to f32) by 2^−16. Together, this is less than 2^−12.
const TIE: f32 = 0.5 - 1.0 / 4096.0;

/// The codes of x / (1 + e^−x), not yet saturated. They are computed from approximations. If one of them is too near to a
/// tie, or is NaN, the numbers are computed as they are defined.
///
/// # Safety
/// The machine must have the instruction set of the vectors `V`.
#[inline(always)]
pub(super) unsafe fn silu_codes<V: I32s, const N: usize>(x: [V; N], narrow: &Narrow<V>) -> [V; N] {
    // SAFETY: the caller upholds the safety contract of this function.
    unsafe {
        let (tie, size) = (V::splat(TIE.to_bits() as i32), V::splat(i32::MAX));
        let mut codes = x;
        let mut certain = true;
        for code in &mut codes {
            let scaled = narrow.scaled(near_silu(*code));
            let rounded = scaled.round_f32();
            certain &= scaled.subtract_f32(rounded.to_f32()).and(size).all_below_f32(tie);
            *code = rounded.add(narrow.after);
        }
        if !certain {
            codes = narrow.codes(Activation::Silu.of(x));
        }
        codes
    }
}
