use super::{ALL, Direct, Kernel, Prepared, Tile, direct::direct, ends, prepared};
use crate::context::Context;
use crate::{
    integer::epilogue::{FixedPoint, NEGATIVE_TWICE},
    simd::I32s,
};
use std::sync::Arc;
use strait_requantize::form::Channel;

impl FixedPoint {
    /// Returns the constants that [`shifted`] takes: addend, base and the two corrections, each split into two halves
    /// of 32 bits, then the shift and the zero point.
    pub(super) fn rest(&self) -> [i32; REST] {
        let halves = |x: i64| [x as i32, (x >> 32) as i32];
        let [addend, base] = [self.addend, self.base].map(halves);
        let correction = halves(if self.even != 0 { self.even } else { self.negative });
        // The zero point may wrap: results are only used if they fit in i32, and they are right modulo 2^32.
        let zero_point = self.zero_point as i32;
        [
            addend[0],
            addend[1],
            base[0],
            base[1],
            correction[0],
            correction[1],
            self.shift as i32,
            zero_point,
        ]
    }

    /// Returns the number that [`HighHalf`] or [`HighHalfTwice`] adds to the high half of the product. (It does not
    /// include the ±2^30 of [`HighHalfTwice`].) Returns `None` if something has to be added to the low half, too, or if
    /// the sum of the high half and this number could leave i32.
    ///
    /// |x·factor| is at most 2^62. So the high half, with the carry from the low half, has a magnitude of at most 2^30.
    /// `room` is the largest magnitude of the added number with which the sum stays in i32.
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

/// Chooses the fastest kernel that gives the right result for all channels.
pub(super) fn kind(channels: &[Channel<'_>], range: [i32; 2], tensor: bool) -> Option<Arc<dyn Prepared>> {
    let points: Vec<FixedPoint> = channels
        .iter()
        .map(|c| FixedPoint::new(&c.arithmetic(), i32::BITS))
        .collect::<Option<_>>()?;
    let everywhere = channels
        .iter()
        .all(|c| c.domain().contains(&ALL[0].into()) && c.domain().contains(&ALL[1].into()));
    if everywhere {
        let high = |twice| {
            let constant = |p: &FixedPoint| Some([p.factor, p.high_addend(twice)?, p.shift as i32 - 32]);
            let values: Vec<_> = points.iter().map(constant).collect::<Option<_>>()?;
            Some(values)
        };
        if let Some(values) = high(false) {
            return Some(direct(HighHalf, &values, tensor));
        }
        if let Some(values) = high(true) {
            // Where the product is negative, the result is at most the zero point, which is then also the lower bound.
            let zero_points = points.iter().map(|p| p.zero_point).max()?;
            let rising = points.iter().all(|p| p.factor >= 0);
            return Some(match i32::try_from(zero_points) {
                Ok(least) if rising => Arc::new(Bounded {
                    least,
                    any: direct(HighHalfTwice, &values, tensor),
                    above: direct(HighHalfNudged, &values, tensor),
                }),
                _ => direct(HighHalfTwice, &values, tensor),
            });
        }
    }
    let values: Vec<_> = points
        .iter()
        .zip(channels)
        .map(|(p, channel)| {
            let [low, high] = ends(channel, range, |x| i32::try_from(p.wide::<true>(x)).is_ok())?;
            let mut constants = [low, high, p.factor, 0, 0, 0, 0, 0, 0, 0, 0];
            constants[3..].copy_from_slice(&p.rest());
            Some(constants)
        })
        .collect::<Option<_>>()?;
    Some(match Corrections::of(&points)? {
        Corrections::None => prepared(Wide::<false, false>, &values, tensor),
        Corrections::Signed => prepared(Wide::<true, false>, &values, tensor),
        Corrections::Even => prepared(Wide::<false, true>, &values, tensor),
    })
}

/// The corrections of the rounding that at least one channel needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Corrections {
    None,
    Signed,
    Even,
}

impl Corrections {
    pub(super) fn of(points: &[FixedPoint]) -> Option<Corrections> {
        match (
            points.iter().any(|p| p.negative != 0),
            points.iter().any(|p| p.even != 0),
        ) {
            (false, false) => Some(Corrections::None),
            (true, false) => Some(Corrections::Signed),
            (false, true) => Some(Corrections::Even),
            // All channels of a form round in the same way, so a form never needs both corrections.
            (true, true) => None,
        }
    }
}

/// ⌊(x·factor + a·2^32) / 2^(32+s)⌋ = (h + a) >> s, where h is the high half of the product x·factor. The addend a
/// contains the zero point and, for shifts above 32, the half that rounds half up.
pub(super) struct HighHalf;

impl Kernel<3> for HighHalf {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor, addend, shift]: &[V; 3], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { V::high_halves(x.products(factor)).add(addend).shift_right(shift) }
    }
}

/// Like [`HighHalf`], but adds 2^30 to products that are at least 0, and subtracts 2^30 from the others. The result is
/// that of two roundings: a shift by 31 bits that rounds half up, and then a shift that rounds half away from zero.
pub(super) struct HighHalfTwice;

impl Kernel<3> for HighHalfTwice {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor, addend, shift]: &[V; 3], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
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

/// Like [`HighHalfTwice`], but adds 2^30 to all products. For products that are at least 0, the results are the same. For
/// negative products, neither result is above the zero point: the sum of product and 2^30 is below 2^30, and so the high
/// half is at most 0, for which the result is the zero point.
pub(super) struct HighHalfNudged;

impl Kernel<3> for HighHalfNudged {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor, addend, shift]: &[V; 3], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let [even, odd] = x.products(factor);
            let [half, _] = V::widen(V::splat(1 << 30), V::splat(0));
            V::high_halves([even.add_wide(half), odd.add_wide(half)])
                .add(addend)
                .shift_right(shift)
        }
    }
}

/// Two kernels: `above` gives the same results as `any` after they are limited to bounds of which the lower is at least
/// `least`, and takes less time.
struct Bounded {
    least: i32,
    any: Arc<dyn Prepared>,
    above: Arc<dyn Prepared>,
}

impl Bounded {
    fn of(&self, bounds: [i32; 2]) -> &dyn Prepared {
        if bounds[0] >= self.least {
            &*self.above
        } else {
            &*self.any
        }
    }
}

impl Prepared for Bounded {
    fn run(&self, cx: Context, tile: Tile<'_, &[i32]>) -> bool {
        self.of(tile.bounds).run(cx, tile)
    }

    fn direct(&self, bounds: [i32; 2]) -> Option<&dyn Direct> {
        self.of(bounds).direct(bounds)
    }
}

/// Number of constants that [`Wide`] takes.
pub(super) const WIDE: usize = 3 + REST;

/// Computes everything in 64 bits. Before that, accumulators are clamped to the range in which results fit in i32. See
/// [`FixedPoint`] for the corrections.
pub(super) struct Wide<const SIGNED: bool, const EVEN: bool>;

impl<const SIGNED: bool, const EVEN: bool> Kernel<WIDE> for Wide<SIGNED, EVEN> {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[low, high, factor, ref rest @ ..]: &[V; WIDE], x: V) -> V {
        // SAFETY: the caller upholds the trait method's safety contract, and shifts are below 64.
        unsafe { shifted::<V, SIGNED, EVEN>(x.max(low).min(high).products(factor), rest) }
    }
}

/// Number of constants that [`shifted`] takes.
pub(super) const REST: usize = 8;

/// Turns 64-bit products into results, which have to fit in i32.
///
/// # Safety
/// The machine must have the instruction set of the vectors `V`, and shifts must be below 64.
#[inline(always)]
pub(super) unsafe fn shifted<V: I32s, const SIGNED: bool, const EVEN: bool>(
    mut products: [V; 2],
    rest: &[V; REST],
) -> V {
    let &[
        addend_low,
        addend_high,
        base_low,
        base_high,
        correction_low,
        correction_high,
        shift,
        zero_point,
    ] = rest;
    // SAFETY: the caller upholds the safety contract of this method.
    unsafe {
        let zero = V::splat(0);
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
