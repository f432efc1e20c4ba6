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
        let mut added = self
            .axes
            .iter()
            .map(|&a| support::axis(a, rank))
            .collect::<Result<SmallVec<[usize; 4]>, _>>()?;
        added.sort_unstable();
        support::ensure(added.windows(2).all(|w| w[0] != w[1]), ReasonCode::Axes, || {
            format!("{:?} names an axis twice", self.axes)
        })?;
        let mut shape = x.shape.clone();
        for axis in added {
            shape.insert(axis, Dim::Fixed(1));
        }
        support::one(x.elem, shape)
    }
}
