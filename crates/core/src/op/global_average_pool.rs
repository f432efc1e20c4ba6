//! Mean over all spatial axes.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::Dim;

op! {
    /// The mean over all axes after the channel axis. These axes are kept with extent 1. On integers it is the sum
    /// divided by the count, rounded half away from zero, on the operand's own grid.
    GlobalAveragePool = "global_average_pool" v 1 {}
}

impl Infer for GlobalAveragePool {
    const ARITY: (usize, usize) = (1, 1);

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
}
