//! Finds parameters of forms that add a constant of any size to the product of accumulator and multiplier before they
//! round once. Such forms have two unknowns: the multiplier and the constant.

use super::Scalar;
use crate::edges::{Edge, Limit, Side, once};
use strait_requantize::{
    Rounding,
    form::{MAX_ADDEND, MAX_SHIFT},
};

/// Bounds on x·m + c for recorded accumulators x. The multiplier m and the constant c are unknown.
struct Lines {
    /// Pairs of x and t for the bounds x·m + c ≥ t.
    above: Vec<(i128, i128)>,
    /// Pairs of x and t for the bounds x·m + c ≤ t.
    below: Vec<(i128, i128)>,
}

impl Lines {
    fn new(edges: &[Edge], rounding: Rounding, shift: u8) -> Lines {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for edge in edges {
            match edge.product(0, once(rounding, shift)) {
                Limit::AtLeast(t) => above.push((edge.x.into(), t)),
                Limit::AtMost(t) => below.push((edge.x.into(), t)),
            }
        }
        Lines { above, below }
    }

    /// Returns the smallest and the largest constant that meet all bounds if the multiplier is `m`. If the first one is
    /// larger than the second, no constant meets all bounds.
    fn constants(&self, m: i128) -> (i128, i128) {
        let most = i128::from(MAX_ADDEND);
        let low = self.above.iter().map(|&(x, t)| t - x * m).max().unwrap_or(-most);
        let high = self.below.iter().map(|&(x, t)| t - x * m).min().unwrap_or(most);
        (low.max(-most), high.min(most))
    }

    /// Finds a multiplier for which some constant meets all bounds. If there is none, finds the multiplier for which
    /// the bounds are missed by as little as possible. The search is a bisection, because the number of constants is a
    /// concave function of the multiplier.
    fn best(&self, mut low: i128, mut high: i128) -> i128 {
        let room = |m| {
            let (low, high) = self.constants(m);
            high - low
        };
        while low < high {
            let middle = low + (high - low) / 2;
            let here = room(middle);
            if here >= 0 {
                return middle;
            }
            if room(middle + 1) > here {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// A multiplier of exactly the given number of bits, its shift and the constant. Together they meet all bounds, or miss
/// the bounds by as little as possible.
pub(super) struct Line {
    pub(super) parameters: Scalar,
    pub(super) explains: bool,
}

pub(super) fn search(edges: &[Edge], rounding: Rounding, bits: u8) -> Option<Line> {
    let mut best: Option<(i128, Line)> = None;
    for shift in shifts(edges, bits) {
        let lines = Lines::new(edges, rounding, shift);
        let m = lines.best(1 << (bits - 1), (1 << bits) - 1);
        let (low, high) = lines.constants(m);
        let constant = low + (high - low) / 2;
        let explains = low <= high;
        let found = Line {
            parameters: Scalar {
                // The multiplier has at most 30 bits, so no bits are lost in the cast.
                factor: m as i32,
                shift,
                constant: i64::try_from(constant).ok()?.clamp(-MAX_ADDEND, MAX_ADDEND),
            },
            explains,
        };
        if explains {
            return Some(found);
        }
        // The number of constants is converted to units of the result, so that different shifts can be compared.
        let room = (high - low) >> shift;
        if best.as_ref().is_none_or(|&(most, _)| room > most) {
            best = Some((room, found));
        }
    }
    best.map(|(_, found)| found)
}

/// Returns the shifts with which a multiplier of this many bits can give the slope of the recorded outputs over their
/// accumulators. If the recorded values do not show a slope, returns all shifts.
fn shifts(edges: &[Edge], bits: u8) -> Vec<u8> {
    let of = |side: Side| edges.iter().filter(move |edge| edge.side == side);
    let first = |side| of(side).min_by_key(|edge| edge.x);
    let last = |side| of(side).max_by_key(|edge| edge.x);
    let slope = |a: Option<&Edge>, b: Option<&Edge>| {
        let (a, b) = (a?, b?);
        let (rise, run) = (b.y as f64 - a.y as f64, b.x as f64 - a.x as f64);
        (run > 0.0).then_some((rise, run))
    };
    // The rise from the first upper bound to the last lower bound gives the smallest slope that is possible. The rise
    // from the first lower bound to the last upper bound gives the largest one.
    let least = slope(first(Side::AtMost), last(Side::AtLeast)).map(|(rise, run)| (rise - 1.0) / run);
    let most = slope(first(Side::AtLeast), last(Side::AtMost)).map(|(rise, run)| (rise + 1.0) / run);
    let fits = |&shift: &u8| {
        // A multiplier of `bits` bits gives slopes from `top / 2` to `top`. Both limits are widened by a factor of two,
        // since the slopes are computed in floating point.
        let top = 2f64.powi(i32::from(bits) - i32::from(shift));
        least.is_none_or(|least| top * 2.0 >= least) && most.is_none_or(|most| top / 4.0 <= most)
    };
    (0..=MAX_SHIFT).filter(fits).collect()
}
