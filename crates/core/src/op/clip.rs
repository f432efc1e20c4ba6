//! Clips floats to an interval.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// min(max(x, min), max) on floats; on integers it is a `clamp`. An infinite bound has no effect.
    Clip = "clip" v 1 {
        /// The lower bound; −∞ for none.
        min: f32,
        /// The upper bound; +∞ for none.
        max: f32,
    }
}

impl Infer for Clip {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
