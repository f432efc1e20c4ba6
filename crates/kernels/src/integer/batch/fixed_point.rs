use super::{ALL, Constants, Kernel, Kind, ends};
use crate::{integer::epilogue::Correction, simd::I32s};
use strait_requantize::{
    Rounding,
    form::{Arithmetic, Channel},
};

/// A channel of `Affine` or of `Doubling`: with v = x·factor + addend, it is
///
/// ((v + base + (negative if v < 0) + (even if ⌊v / 2^shift⌋ is odd)) >> shift) + zero_point
///
/// For one rounding the corrections are the table of [`Correction`]. Two roundings add 2^(shift−1) + 2^30, and 2^31 less
/// below zero, as `strait-requantize` proves.
#[derive(Clone, Copy)]
struct FixedPoint {
    factor: i32,
    addend: i64,
    base: i64,
    negative: i64,
    even: i64,
    shift: u32,
    zero_point: i64,
}

impl FixedPoint {
    fn new(arithmetic: &Arithmetic<'_>) -> Option<FixedPoint> {
        match *arithmetic {
            Arithmetic::Affine(a) => {
                let shift = u32::from(a.shift);
                let rounding = if a.addend == 0 && !has_ties(a.factor, shift) {
                    match a.rounding {
                        Rounding::Floor | Rounding::Ceil | Rounding::TowardZero => a.rounding,
                        _ => Rounding::HalfUp,
                    }
                } else {
                    a.rounding
                };
                let correction = Correction::new(rounding, shift);
                Some(FixedPoint {
                    factor: a.factor,
                    addend: a.addend,
                    base: correction.base,
                    negative: correction.negative,
                    even: correction.even,
                    shift,
                    zero_point: i64::from(a.zero_point) + correction.after,
                })
            }
            Arithmetic::Doubling(d) => {
                let shift = u32::from(d.shift);
                Some(FixedPoint {
                    factor: d.factor,
                    addend: d.addend,
                    base: (1 << (shift - 1)) + (1 << 30),
                    negative: NEGATIVE_TWICE,
                    even: 0,
                    shift,
                    zero_point: i64::from(d.zero_point),
                })
            }
            _ => None,
        }
    }

    /// The value before saturation; `x` is in the domain.
    fn wide(&self, x: i64) -> i64 {
        let v = x * i64::from(self.factor) + self.addend;
        let correction = self.base + (self.negative & (v >> 63)) + (self.even & (v >> self.shift));
        ((v + correction) >> self.shift) + self.zero_point
    }

    /// What is added to the high half of the product, for [`HighHalf`] (and for [`HighHalfTwice`] without its ±2^30): if
    /// nothing is added to the low half, and the sum, zero point included, stays in i32 for every accumulator.
    ///
    /// |x·factor| ≤ 2^62, so the high half, with what the low one carries, is at most 2^30 in size.
    fn high_addend(&self, twice: bool) -> Option<i32> {
        let low = 1_i64 << 32;
        let sum = self.addend + self.base - if twice { 1 << 30 } else { 0 };
        let negative = if twice { NEGATIVE_TWICE } else { 0 };
        if self.shift <= 32
            || (twice && self.addend != 0)
            || (self.negative, self.even) != (negative, 0)
            || sum % low != 0
        {
            return None;
        }
        let room = i64::from(i32::MAX) - (1 << 30) - 1;
        let sum = self
            .zero_point
            .checked_mul(1 << (self.shift - 32))?
            .checked_add(sum / low)?;
        (-room..=room).contains(&sum).then_some(sum as i32)
    }
}

/// 2^30 is added twice over for p ≥ 0 than for p < 0.
const NEGATIVE_TWICE: i64 = -(1 << 31);

/// Whether x·factor is half way between two multiples of 2^shift for some i32 x: where not, all roundings to the nearest
/// are the same.
///
/// With factor = f·2^t, f odd, x·factor ≡ 2^(shift−1) modulo 2^shift exactly if x is an odd multiple of 2^(shift−1−t);
/// there is one in i32 for exponents from 0 to 31.
fn has_ties(factor: i32, shift: u32) -> bool {
    factor != 0 && shift > 0 && (0..=31).contains(&(i64::from(shift) - 1 - i64::from(factor.trailing_zeros())))
}

/// The kernel for all channels, the cheapest that is right for each of them.
pub(super) fn kind(channels: &[Channel<'_>], range: [i32; 2], tensor: bool) -> Option<Kind> {
    let points: Vec<FixedPoint> = channels
        .iter()
        .map(|c| FixedPoint::new(&c.arithmetic()))
        .collect::<Option<_>>()?;
    let everywhere = channels
        .iter()
        .all(|c| c.domain().contains(&ALL[0].into()) && c.domain().contains(&ALL[1].into()));
    if everywhere {
        let high = |twice| {
            let constant = |p: &FixedPoint| Some([p.factor, p.high_addend(twice)?, p.shift as i32 - 32]);
            let values: Vec<_> = points.iter().map(constant).collect::<Option<_>>()?;
            Some(Constants::new(&values, tensor))
        };
        if let Some(constants) = high(false) {
            return Some(Kind::HighHalf(constants));
        }
        if let Some(constants) = high(true) {
            return Some(Kind::HighHalfTwice(constants));
        }
    }
    let values: Vec<_> = points
        .iter()
        .zip(channels)
        .map(|(p, channel)| {
            let [low, high] = ends(channel, range, |x| i32::try_from(p.wide(x)).is_ok())?;
            let halves = |x: i64| [x as i32, (x >> 32) as i32];
            let [addend, base] = [p.addend, p.base].map(halves);
            let correction = halves(if p.even != 0 { p.even } else { p.negative });
            // The result is right modulo 2^32, and it is an i32.
            let zero_point = p.zero_point as i32;
            Some([
                low,
                high,
                p.factor,
                addend[0],
                addend[1],
                base[0],
                base[1],
                correction[0],
                correction[1],
                p.shift as i32,
                zero_point,
            ])
        })
        .collect::<Option<_>>()?;
    let constants = Constants::new(&values, tensor);
    match (
        points.iter().any(|p| p.negative != 0),
        points.iter().any(|p| p.even != 0),
    ) {
        (false, false) => Some(Kind::Wide(constants)),
        (true, false) => Some(Kind::WideSigned(constants)),
        (false, true) => Some(Kind::WideEven(constants)),
        // One form has one rounding.
        (true, true) => None,
    }
}

/// ⌊(x·factor + a·2^32) / 2^(32+s)⌋ = (high + a) >> s, where high is the high half of the product: rounding half up by
/// more than 32 bits, and the zero point, are in a.
pub(super) struct HighHalf;

impl Kernel<3> for HighHalf {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor, addend, shift]: &[V; 3], x: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::high_halves(x.products(factor)).add(addend).shift_right(shift) }
    }
}

/// The same with 2^30 more for products from 0 on, and 2^30 less below: a first rounding by 31 bits, half up, before the
/// second, half away from zero.
pub(super) struct HighHalfTwice;

impl Kernel<3> for HighHalfTwice {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor, addend, shift]: &[V; 3], x: V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let [even, odd] = x.products(factor);
            let nudged = [
                even.add_signed_wide::<{ 1 << 30 }>(),
                odd.add_signed_wide::<{ 1 << 30 }>(),
            ];
            V::high_halves(nudged).add(addend).shift_right(shift)
        }
    }
}

/// Constants of [`Wide`].
pub(super) const WIDE: usize = 11;

/// Everything in 64 bits, for accumulators clamped to where results are i32; see [`FixedPoint`] for the corrections.
pub(super) struct Wide<const SIGNED: bool, const EVEN: bool>;

impl<const SIGNED: bool, const EVEN: bool> Kernel<WIDE> for Wide<SIGNED, EVEN> {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, constants: &[V; WIDE], x: V) -> V {
        let &[
            low,
            high,
            factor,
            addend_low,
            addend_high,
            base_low,
            base_high,
            rest @ ..,
        ] = constants;
        let [correction_low, correction_high, shift, zero_point] = rest;
        // SAFETY: the caller's promise; shifts are below 64.
        unsafe {
            let zero = V::splat(0);
            let mut products = x.max(low).min(high).products(factor);
            let addends = V::widen(addend_low, addend_high);
            let bases = V::widen(base_low, base_high);
            let corrections = V::widen(correction_low, correction_high);
            let shifts = V::widen(shift, zero);
            for (i, product) in products.iter_mut().enumerate() {
                let v = product.add_wide(addends[i]);
                let mut sum = v.add_wide(bases[i]);
                if SIGNED {
                    let sign = v.shift_right_wide(V::widen(V::splat(63), zero)[i]);
                    sum = sum.add_wide(sign.and(corrections[i]));
                }
                if EVEN {
                    sum = sum.add_wide(v.shift_right_wide(shifts[i]).and(corrections[i]));
                }
                *product = sum.shift_right_wide(shifts[i]);
            }
            V::low_halves(products).add(zero_point)
        }
    }
}
