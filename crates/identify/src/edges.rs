//! Bounds that recorded values put on a form.

use crate::vectors::Layer;
use strait_requantize::{IntType, Rounding};

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
    pub(crate) fn new(layer: &Layer) -> Bounds<'_> {
        let codes = || layer.channels.iter().flatten().map(|&(_, y)| y);
        let ends = [codes().min().unwrap_or(0), codes().max().unwrap_or(0)];
        Bounds {
            layer,
            channels: layer.channels.iter().map(|pairs| edges(pairs, ends)).collect(),
            ends,
        }
    }

    pub(crate) fn out(&self) -> IntType {
        self.layer.out
    }

    /// Zero points of forms that make one of an accumulator of zero: what no form that does not decrease contradicts.
    pub(crate) fn zero_points(&self) -> std::ops::RangeInclusive<i32> {
        let (mut low, mut high) = (self.out().min(), self.out().max());
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
fn edges(pairs: &[(i64, i32)], [lowest, highest]: [i32; 2]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for run in pairs.chunk_by(|a, b| a.1 == b.1) {
        let (Some(&(first, code)), Some(&(last, _))) = (run.first(), run.last()) else {
            continue;
        };
        let y = i64::from(code);
        if code > lowest {
            edges.push(Edge {
                x: first,
                y,
                side: Side::AtLeast,
            });
        }
        if code < highest {
            edges.push(Edge {
                x: last,
                y,
                side: Side::AtMost,
            });
        }
    }
    // What is far from zero bounds a factor best.
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.x.unsigned_abs()));
    edges
}

impl Edge {
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
