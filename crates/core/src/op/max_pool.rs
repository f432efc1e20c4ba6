//! Maximum over windows.

use super::prelude::*;

op! {
    /// The largest element of each window of [N, C, spatial…]. Padding elements never count. If the operand is codes,
    /// the result is on the same grid.
    MaxPool = "max_pool" v 1: Selects, 1 {
        /// Size of the window along each spatial axis.
        size: SmallVec<[u32; 2]>,
        /// Stride along each spatial axis.
        stride: SmallVec<[u32; 2]>,
        /// Padding: first the padding before each axis, then the padding after each axis.
        pad: SmallVec<[u32; 4]>,
        /// Dilation along each spatial axis.
        dilation: SmallVec<[u32; 2]>,
        /// True to round the number of windows up. Windows that would start in the trailing padding are dropped.
        ceil: bool,
    }
}

impl OpFacts for MaxPool {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::pool(operands, self.window(), self.ceil, |elem| elem)
    }

    fn channel_axis(&self, _: usize) -> Option<usize> {
        Some(1)
    }
}
