//! Two roundings: every shift has an interval of multipliers of 31 bits.

use super::{
    Scalar,
    affine::{Interval, narrow},
};
use crate::edges::{Edge, twice};
use strait_requantize::form::MAX_SHIFT;

/// Multipliers with their highest bit.
pub(super) const ALL: Interval = Interval {
    low: 1 << 30,
    high: (1 << 31) - 1,
};

/// A multiplier and a shift, 1 ..= 62, with which all bounds are met.
pub(super) fn search(edges: &[Edge], zero: i64) -> Option<Scalar> {
    let of = |shift| {
        let found = narrow(edges, ALL, |edge| edge.product(zero, twice(shift)))?;
        Some(scalar(found, shift))
    };
    (1..=MAX_SHIFT).find_map(of)
}

/// The middle of an interval of multipliers.
pub(super) fn scalar(interval: Interval, shift: u8) -> Scalar {
    Scalar {
        // Of 31 bits.
        factor: interval.middle() as i32,
        shift,
        constant: 0,
    }
}
