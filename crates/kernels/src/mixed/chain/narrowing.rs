//! The quantization at the end of a chain.

use crate::integer::batch::Elements;
use crate::simd::I32s;
use strait_requantize::{
    Rounding,
    quantize::{Quantization, Scaling},
};

/// The largest magnitude of a zero point. Numbers beyond four times as much saturate.
const LARGEST_ZERO_POINT: i32 = 1 << 16;
const FAR: f32 = (1 << 18) as f32;

/// A quantization that vectors of f32 compute: half to even, into at most 16 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrowing {
    pub(super) quantization: Quantization,
    divided: bool,
    scale: f32,
}

impl Narrowing {
    /// `None` if vectors do not compute this quantization.
    pub(super) fn new(quantization: Quantization) -> Option<Narrowing> {
        let (divided, scale) = match quantization.scaling {
            Scaling::DividedBy(scale) => (true, scale),
            Scaling::Times(factor) => (false, factor),
            Scaling::TimesTwice(_) => return None,
        };
        let legal = quantization.rounding == Rounding::HalfEven
            && quantization.out.bits() <= 16
            && quantization.after.unsigned_abs() <= LARGEST_ZERO_POINT.unsigned_abs()
            && quantization.inside.abs() <= LARGEST_ZERO_POINT as f32;
        legal.then_some(Narrowing {
            quantization,
            divided,
            scale,
        })
    }

    /// True if codes are certain for approximations; see [`silu_codes`](super::activation::silu_codes). The zero point has to be
    /// a code.
    pub(super) fn is_byte(&self) -> bool {
        const LARGEST: f32 = (1_u64 << 40) as f32;
        let Quantization { inside, after, out, .. } = self.quantization;
        let zero = inside as i32 + after;
        let is_near = inside.abs() <= 128.0 && after.abs() <= 128 && (out.min()..=out.max()).contains(&zero);
        out.bits() <= 8 && !self.divided && self.scale <= LARGEST && is_near
    }

    /// The factor by which real numbers are multiplied; `None` if they are divided.
    pub(super) fn factor(&self) -> Option<f32> {
        (!self.divided).then_some(self.scale)
    }

    pub(super) fn elements(&self) -> Elements {
        Elements::Codes(self.quantization.out)
    }

    /// The constants as vectors.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn vectors<V: I32s>(&self) -> Narrow<V> {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let number = |x: f32| V::splat(x.to_bits() as i32);
            Narrow {
                divided: self.divided,
                scale: number(self.scale),
                inside: number(self.quantization.inside),
                after: V::splat(self.quantization.after),
                ends: [number(-FAR), number(FAR)],
            }
        }
    }
}

/// The constants of a quantization as vectors.
#[derive(Clone, Copy)]
pub(super) struct Narrow<V> {
    divided: bool,
    scale: V,
    inside: V,
    pub(super) after: V,
    ends: [V; 2],
}

impl<V: I32s> Narrow<V> {
    /// The numbers before rounding, limited so that they fit in 32 bits. NaN stays NaN.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn scaled(&self, x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let v = match self.divided {
                true => x.divide_f32(self.scale),
                false => x.multiply_f32(self.scale),
            };
            self.limited(v)
        }
    }

    #[inline(always)]
    unsafe fn limited(&self, v: V) -> V {
        let [low, high] = self.ends;
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { low.max_f32(high.min_f32(v.add_f32(self.inside))) }
    }

    /// The codes of some vectors; see [`Narrow::code`].
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn codes<const N: usize>(&self, mut vectors: [V; N]) -> [V; N] {
        for x in &mut vectors {
            // SAFETY: the caller upholds the safety contract of this method.
            *x = unsafe { self.code(*x) };
        }
        vectors
    }

    /// The codes, not yet saturated. NaN has the code of real zero.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn code(&self, x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let v = match self.divided {
                true => x.divide_f32(self.scale),
                false => x.multiply_f32(self.scale),
            };
            self.limited(v.numbers_f32()).round_f32().add(self.after)
        }
    }
}
