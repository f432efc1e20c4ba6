//! Mean over all spatial axes.

use super::prelude::*;

op! {
    /// The mean over all axes after the channel axis. These axes are kept with extent 1. On integers, the mean is the
    /// sum divided by the count, rounded half away from zero, on the operand's own grid.
    GlobalAveragePool = "global_average_pool" v 1: Divides, 1 {}
}

impl OpFacts for GlobalAveragePool {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(x.shape.len() >= 3, ReasonCode::PoolRank, || {
            format!("x has rank {}, at least 3 is needed", x.shape.len())
        })?;
        let shape = x
            .shape
            .iter()
            .enumerate()
            .map(|(axis, d)| if axis < 2 { *d } else { Dim::Fixed(1) })
            .collect();
        support::one(x.elem, shape)
    }

    fn channel_axis(&self, _: usize) -> Option<usize> {
        Some(1)
    }
}
