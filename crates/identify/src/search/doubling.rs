//! Finds parameters of forms with two roundings: for every shift, the interval of 31-bit multipliers.

use super::{
    Scalar,
    affine::{Interval, narrow},
};
use crate::edges::{Edge, twice};
use strait_requantize::form::MAX_SHIFT;

/// All 31-bit multipliers whose highest bit is set.
pub(super) const ALL: Interval = Interval {
    low: 1 << 30,
    high: (1 << 31) - 1,
};

/// A multiplier and a shift from 1 to 62 that meet all bounds.
pub(super) fn search(edges: &[Edge], zero: i64) -> Option<Scalar> {
    let of = |shift| {
        let found = narrow(edges, ALL, |edge| edge.product(zero, twice(shift)))?;
        Some(scalar(found, shift))
    };
    (1..=MAX_SHIFT).find_map(of)
}

/// The multiplier in the middle of an interval, with its shift.
pub(super) fn scalar(interval: Interval, shift: u8) -> Scalar {
    Scalar {
        // The multiplier has 31 bits, so no bits are lost in the cast.
        factor: interval.middle() as i32,
        shift,
        constant: 0,
    }
}
