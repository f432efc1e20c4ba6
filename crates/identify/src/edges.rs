//! Finds the bounds on the results of a form that follow from recorded values.

use crate::{
    ends,
    vectors::{RecordedLayer, RecordedValue},
};
use strait_requantize::Rounding;

/// For each channel, the bounds on the results of a form that follow from the recorded values of a layer.
pub(crate) struct Bounds<'a> {
    pub(crate) layer: &'a RecordedLayer,
    pub(crate) channels: Vec<Vec<Edge>>,
    /// Lowest and highest output.
    pub(crate) ends: [i32; 2],
}

/// One bound on the result of a form that follows from a recorded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The accumulator of the recorded value.
    pub(crate) x: i64,
    /// The output of the recorded value.
    pub(crate) y: i64,
    pub(crate) side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A lower bound: f(x) ≥ y.
    AtLeast,
    /// An upper bound: f(x) ≤ y.
    AtMost,
}

impl Bounds<'_> {
    /// Finds the bounds of a layer. In each channel, the output must be a non-decreasing function of the accumulator.
    pub(crate) fn new(layer: &RecordedLayer) -> Bounds<'_> {
        let ends = ends::recorded(layer);
        Bounds {
            layer,
            channels: layer.channels.iter().map(|values| edges(values, ends)).collect(),
            ends,
        }
    }

    /// Returns the possible zero points. For an accumulator of zero, the output of a form is its zero point. The output
    /// never decreases when the accumulator grows. So the zero point is at least as large as every output of a negative
    /// accumulator, and at most as large as every output of a positive one.
    pub(crate) fn zero_points(&self) -> std::ops::RangeInclusive<i32> {
        let (mut low, mut high) = (self.layer.out.min(), self.layer.out.max());
        if let Some(zero) = self.layer.zero_point {
            return zero..=zero;
        }
        for edge in self.channels.iter().flatten() {
            // Outputs have 32 bits, so no bits are lost in the casts.
            match edge.side {
                Side::AtLeast if edge.x <= 0 => low = low.max(edge.y as i32),
                Side::AtMost if edge.x >= 0 => high = high.min(edge.y as i32),
                _ => {}
            }
        }
        low..=high
    }
}

/// The bounds that follow from the first and the last accumulator of each run of accumulators with the same output.
pub(crate) fn edges(values: &[RecordedValue], ends: [i32; 2]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for run in values.chunk_by(|a, b| a.output == b.output) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let of = |value: &RecordedValue, side| {
            Edge::of(value, ends)
                .into_iter()
                .flatten()
                .find(|edge| edge.side == side)
        };
        edges.extend(of(first, Side::AtLeast));
        edges.extend(of(last, Side::AtMost));
    }
    // Accumulators far from zero give the tightest bounds on a factor, so their bounds come first.
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.x.unsigned_abs()));
    edges
}

impl Edge {
    /// Returns the bounds that one recorded value gives on the result before saturation: a lower bound and an upper
    /// bound, both equal to the output. The lowest output gives only the upper bound, and the highest output only the
    /// lower bound, because such an output may be saturated.
    pub(crate) fn of(value: &RecordedValue, [lowest, highest]: [i32; 2]) -> [Option<Edge>; 2] {
        let edge = |side| Edge {
            x: value.accumulator,
            y: value.output.into(),
            side,
        };
        [
            (value.output > lowest).then(|| edge(Side::AtLeast)),
            (value.output < highest).then(|| edge(Side::AtMost)),
        ]
    }

    /// Converts this edge, which is a bound on the result, to a bound on the product of accumulator and multiplier
    /// before it is rounded. `zero` is the zero point. `least` computes the smallest product that is rounded to a given
    /// quotient.
    pub(crate) fn product(&self, zero: i64, least: impl Fn(i128) -> i128) -> Limit {
        let quotient = i128::from(self.y) - i128::from(zero);
        match self.side {
            Side::AtLeast => Limit::AtLeast(least(quotient)),
            Side::AtMost => Limit::AtMost(least(quotient + 1) - 1),
        }
    }

    /// True if a result satisfies the bound.
    pub(crate) fn holds(&self, result: i64) -> bool {
        match self.side {
            Side::AtLeast => result >= self.y,
            Side::AtMost => result <= self.y,
        }
    }
}

/// A bound on an integer: it must be at least, or at most, the given number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    AtLeast(i128),
    AtMost(i128),
}

/// Computes the smallest product that becomes a given quotient when it is divided by 2^shift and rounded once.
pub(crate) fn once(rounding: Rounding, shift: u8) -> impl Fn(i128) -> i128 {
    move |quotient| rounding.least_reaching(quotient, shift)
}

/// Returns a function that computes the smallest product that gemmlowp's two roundings turn into a given quotient. With
/// a shift of at most 31, only the first of the two roundings changes anything.
pub(crate) fn twice(shift: u8) -> impl Fn(i128) -> i128 {
    move |quotient| match shift.checked_sub(31) {
        None | Some(0) => Rounding::HalfUp.least_reaching(quotient, shift),
        Some(rest) => {
            let high = Rounding::HalfAway.least_reaching(quotient, rest);
            Rounding::HalfUp.least_reaching(high, 31)
        }
    }
}

/// The bounds that follow from a value. `None` if its output lies beyond `ends`, which a clamped result never does.
pub(crate) fn bounds(value: &RecordedValue, ends: [i32; 2]) -> Option<[Option<Edge>; 2]> {
    (ends[0]..=ends[1])
        .contains(&value.output)
        .then(|| Edge::of(value, ends))
}
