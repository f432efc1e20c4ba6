//! Maximum over windows.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use smallvec::SmallVec;

op! {
    /// The largest element of each window; padding never wins. Operand [N, C, spatial…]; integers stay as they are.
    MaxPool = "max_pool" v 1 {
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
    }
}

impl Infer for MaxPool {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::pool(
            operands,
            &self.size,
            &self.stride,
            &self.pad,
            &self.dilation,
            self.ceil,
            |elem| elem,
        )
    }
}
