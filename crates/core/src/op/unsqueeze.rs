//! Inserts axes of extent 1.

use super::prelude::*;
use crate::shape::MAX_RANK;

op! {
    /// The operand with new axes of extent 1. `axes` are the positions of the new axes in the result.
    Unsqueeze = "unsqueeze" v 1: Rearranges, 1 {
        /// Positions in the result; negative ones count from the end of the result's axes.
        axes: SmallVec<[i64; 4]>,
    }
}

impl OpFacts for Unsqueeze {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let rank = x.shape.len() + self.axes.len();
        support::ensure(rank <= MAX_RANK, ReasonCode::Axes, || {
            format!("the result would have rank {rank}, past {MAX_RANK}")
        })?;
        let mut shape = x.shape.clone();
        for axis in support::ascending_axes(&self.axes, rank)? {
            shape.insert(axis, Dim::Fixed(1));
        }
        support::one(x.elem, shape)
    }
}
