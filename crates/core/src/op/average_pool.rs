//! Mean over windows.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use smallvec::SmallVec;

op! {
    /// The mean of each window of [N, C, spatial…]. On integers: the sum divided by the count, rounded half away from zero,
    /// on the operand's own grid (LiteRT's AVERAGE_POOL_2D).
    AveragePool = "average_pool" v 1 {
        /// Extent per spatial axis.
        size: SmallVec<[u32; 2]>,
        /// One step per spatial axis.
        stride: SmallVec<[u32; 2]>,
        /// All begins, then all ends.
        pad: SmallVec<[u32; 4]>,
        /// One per spatial axis.
        dilation: SmallVec<[u32; 2]>,
        /// Round the number of windows up; windows that start in the trailing padding are dropped.
        ceil: bool,
        /// Padding counts in the divisor.
        count_include_pad: bool,
    }
}

impl Infer for AveragePool {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::pool(operands, &self.size, &self.stride, &self.pad, &self.dilation, self.ceil, |elem| elem)
    }
}
