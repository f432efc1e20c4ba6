//! Bounds that recorded values put on a form.

use crate::{
    ends,
    vectors::{Layer, Value},
};
use strait_requantize::Rounding;

/// A layer as bounds, channel by channel.
pub(crate) struct Bounds<'a> {
    pub(crate) layer: &'a Layer,
    pub(crate) channels: Vec<Vec<Edge>>,
    /// The lowest and the highest output.
    pub(crate) ends: [i32; 2],
}

/// A bound that a recorded value puts on the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The accumulator.
    pub(crate) x: i64,
    /// Its output.
    pub(crate) y: i64,
    pub(crate) side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// f(x) ≥ y
    AtLeast,
    /// f(x) ≤ y
    AtMost,
}

impl Bounds<'_> {
    /// The bounds of a layer whose outputs are a function of its accumulators that does not decrease.
    pub(crate) fn new(layer: &Layer) -> Bounds<'_> {
        let ends = ends::recorded(layer);
        Bounds {
            layer,
            channels: layer.channels.iter().map(|values| edges(values, ends)).collect(),
            ends,
        }
    }

    /// Zero points of forms that make one of an accumulator of zero: what no form that does not decrease contradicts.
    pub(crate) fn zero_points(&self) -> std::ops::RangeInclusive<i32> {
        let (mut low, mut high) = (self.layer.out.min(), self.layer.out.max());
        if let Some(zero) = self.layer.zero_point {
            return zero..=zero;
        }
        for edge in self.channels.iter().flatten() {
            // Outputs are i32.
            match edge.side {
                Side::AtLeast if edge.x <= 0 => low = low.max(edge.y as i32),
                Side::AtMost if edge.x >= 0 => high = high.min(edge.y as i32),
                _ => {}
            }
        }
        low..=high
    }
}

/// The first accumulator of each run of one output, and the last.
pub(crate) fn edges(values: &[Value], ends: [i32; 2]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for run in values.chunk_by(|a, b| a.output == b.output) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let of = |value: &Value, side| {
            Edge::of(value, ends)
                .into_iter()
                .flatten()
                .find(|edge| edge.side == side)
        };
        edges.extend(of(first, Side::AtLeast));
        edges.extend(of(last, Side::AtMost));
    }
    // What is far from zero bounds a factor best.
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.x.unsigned_abs()));
    edges
}

impl Edge {
    /// The bounds of one value, where results leave the ends nowhere.
    pub(crate) fn of(value: &Value, [lowest, highest]: [i32; 2]) -> [Option<Edge>; 2] {
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

    /// The bound on what is rounded: at least the first, or at most the second, where `least` is the least product that
    /// reaches a quotient.
    pub(crate) fn product(&self, zero: i64, least: impl Fn(i128) -> i128) -> Limit {
        let quotient = i128::from(self.y) - i128::from(zero);
        match self.side {
            Side::AtLeast => Limit::AtLeast(least(quotient)),
            Side::AtMost => Limit::AtMost(least(quotient + 1) - 1),
        }
    }

    /// True if a result is what the edge says.
    pub(crate) fn holds(&self, result: i64) -> bool {
        match self.side {
            Side::AtLeast => result >= self.y,
            Side::AtMost => result <= self.y,
        }
    }
}

/// A bound on an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    AtLeast(i128),
    AtMost(i128),
}

/// The least product of which one rounding by 2^shift makes a quotient.
pub(crate) fn once(rounding: Rounding, shift: u8) -> impl Fn(i128) -> i128 {
    move |quotient| rounding.least_reaching(quotient, shift)
}

/// The least product of which gemmlowp's two roundings make a quotient; by 31 and less there is only the first.
pub(crate) fn twice(shift: u8) -> impl Fn(i128) -> i128 {
    move |quotient| match shift.checked_sub(31) {
        None | Some(0) => Rounding::HalfUp.least_reaching(quotient, shift),
        Some(rest) => {
            let high = Rounding::HalfAway.least_reaching(quotient, rest);
            Rounding::HalfUp.least_reaching(high, 31)
        }
    }
}
