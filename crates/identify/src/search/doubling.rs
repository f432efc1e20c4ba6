//! Two roundings: every shift has an interval of multipliers of 31 bits.

use super::{
    Found, Scalar,
    affine::{Interval, narrow},
};
use crate::edges::{Edge, twice};
use strait_requantize::form::MAX_SHIFT;

/// The multiplier and the shift, 1 ..= 62, with which all bounds are met, or most.
pub(super) fn search(edges: &[Edge], zero: i64) -> Option<Found<Scalar>> {
    let all = Interval {
        low: 1 << 30,
        high: (1 << 31) - 1,
    };
    let of = |shift| {
        let found = narrow(edges, all, |edge| edge.product(zero, twice(shift)));
        let middle = found.interval.low + (found.interval.high - found.interval.low) / 2;
        Found {
            parameters: Scalar {
                // Of 31 bits.
                factor: found.failed.unwrap_or(middle) as i32,
                shift,
                constant: 0,
            },
            met: found.met,
            explains: found.failed.is_none(),
        }
    };
    (1..=MAX_SHIFT).map(of).max_by_key(|found| found.met)
}
