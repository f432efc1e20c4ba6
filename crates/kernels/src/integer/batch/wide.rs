//! Requantizes accumulators of 64 bits.

use super::{
    Constants, Elements, Kernel, Tile, TileJob, Two,
    fixed_point::{Corrections, REST, shifted},
    wide_ends,
};
use crate::context::Context;
use crate::integer::output_tile::OutputTile;
use crate::{
    integer::{
        epilogue::{Double, Family, FixedPoint, PerChannel, per_channel, saturate},
        lanes::by_lane,
    },
    simd::I32s,
};
use strait_requantize::{IntType, Requantization};

/// A requantization of 64-bit accumulators. With activations of 16 bits, 48 of the bits are used.
#[derive(Clone, Debug)]
pub(crate) enum Wide {
    /// `SixteenByEight`, `TosaRescale` with 48-bit inputs, and every other form that multiplies and shifts integers.
    FixedPoint {
        points: PerChannel<Point>,
        vectors: Option<(Corrections, Constants<CONSTANTS>)>,
    },
    /// `Float64`. Each accumulator is converted to f64.
    Double(PerChannel<Double>),
}

/// The parameters of one channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    fixed: FixedPoint,
    domain: [i64; 2],
}

impl Wide {
    /// Makes the kernel of a legal form. Returns `None` for forms that compute in f32 and for forms with thresholds.
    /// These two kinds of forms are defined only for accumulators of 32 bits.
    pub(crate) fn new(form: &Requantization) -> Option<Wide> {
        if let Ok(doubles) = per_channel(form, Double::of) {
            return Some(Wide::Double(doubles));
        }
        let points = per_channel(form, |channel| {
            let (low, high) = channel.domain().into_inner();
            Some(Point {
                fixed: FixedPoint::new(&channel.arithmetic(), i64::BITS)?,
                domain: [low, high],
            })
        });
        let points = points.ok()?;
        Some(Wide::FixedPoint {
            vectors: vectors(form, &points),
            points,
        })
    }

    /// Requantizes a tile to codes of type `out` within the bounds. An accumulator outside of its channel's domain is
    /// first clamped to the domain.
    pub(crate) fn run(
        &self,
        cx: Context,
        (out, bounds): (IntType, [i32; 2]),
        accumulators: &[i64],
        stride: usize,
        place: &OutputTile<'_>,
    ) {
        let tile = Tile {
            out: Elements::Codes(out),
            bounds,
            source: accumulators,
            stride,
            place,
        };
        let elements = (accumulators, stride);
        let (points, vectors) = match self {
            Wide::FixedPoint { points, vectors } => (points, vectors),
            Wide::Double(doubles) => {
                // If f64 cannot represent x, both x and the f64 to which it is rounded are outside of the domain.
                let lane = |double: &Double, x: i64| double.nearest(x as f64);
                return by_lane(out, bounds, elements, place, doubles, lane);
            }
        };
        let done = match vectors {
            Some((Corrections::None, c)) => cx.run_on_vectors(TileJob::new(tile, &Lanes::<false, false>, c)),
            Some((Corrections::Signed, c)) => cx.run_on_vectors(TileJob::new(tile, &Lanes::<true, false>, c)),
            Some((Corrections::Even, c)) => cx.run_on_vectors(TileJob::new(tile, &Lanes::<false, true>, c)),
            None => false,
        };
        if !done {
            let lane =
                |point: &Point, x: i64| saturate(point.fixed.wide::<true>(x.max(point.domain[0]).min(point.domain[1])));
            by_lane(out, bounds, elements, place, points, lane);
        }
    }
}

/// Returns the constants of all channels for the vector kernel. Returns `None` if `wide_ends` finds no range of
/// accumulators for which results fit in i32.
fn vectors(form: &Requantization, points: &PerChannel<Point>) -> Option<(Corrections, Constants<CONSTANTS>)> {
    let channels = points.channels();
    let values: Vec<_> = (0..channels.unwrap_or(1))
        .map(|c| {
            let (channel, fixed) = (form.channel(c).ok()?, points.get(c).fixed);
            let fits = |x| i32::try_from(fixed.wide::<true>(x)).is_ok();
            let [low, high] = wide_ends(&channel, [i64::MIN, i64::MAX], form.range(), fits)?;
            let halves = |x: i64| [x as i32, (x >> 32) as i32];
            let mut constants = [0; CONSTANTS];
            constants[..2].copy_from_slice(&halves(low));
            constants[2..4].copy_from_slice(&halves(high));
            constants[4] = fixed.factor;
            constants[5..].copy_from_slice(&fixed.rest());
            Some(constants)
        })
        .collect::<Option<_>>()?;
    let fixed: Vec<FixedPoint> = (0..channels.unwrap_or(1)).map(|c| points.get(c).fixed).collect();
    Some((Corrections::of(&fixed)?, Constants::new(&values, channels.is_none())))
}

/// Number of constants: the two ends of the range to which accumulators are clamped, each in two halves of 32 bits, the
/// factor, and the constants that [`shifted`] takes.
const CONSTANTS: usize = 5 + REST;

/// Computes everything in 64 bits. Before that, accumulators are clamped to the range in which products fit in i64 and
/// results fit in i32.
struct Lanes<const SIGNED: bool, const EVEN: bool>;

impl<const SIGNED: bool, const EVEN: bool> Kernel<CONSTANTS, Two> for Lanes<SIGNED, EVEN> {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, constants: &[V; CONSTANTS], mut x: [V; 2]) -> V {
        let &[low_low, low_high, high_low, high_high, factor, ref rest @ ..] = constants;
        // SAFETY: the caller upholds the trait method's safety contract, and shifts are below 64.
        unsafe {
            let (low, high) = (V::widen(low_low, low_high), V::widen(high_low, high_high));
            let factors = V::widen(factor, V::splat(0));
            for (i, x) in x.iter_mut().enumerate() {
                *x = x.max_wide(low[i]).min_wide(high[i]).multiply_wide(factors[i]);
            }
            shifted::<V, SIGNED, EVEN>(x, rest)
        }
    }
}
