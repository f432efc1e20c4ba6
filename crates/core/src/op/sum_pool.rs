//! Sum over windows.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::carrier::Carrier;
use crate::reason::Reason;
use smallvec::SmallVec;

op! {
    /// The sum of each window of [N, C, spatial…], integers only; padding reads as `pad_value`. The division of
    /// a mean is left to the requantization that follows. Where that is fused, an optional second operand says of each
    /// element which channel of its parameters it goes through; see [`Requantize`](struct@super::Requantize).
    SumPool = "sum_pool" v 2 {
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
        /// Value of a padded element: the zero point of the operand.
        pad_value: i32,
        /// The type of the sum of codes; i32, if nothing is said, and where the operands are no codes.
        accumulator: Carrier,
    }
}

impl SumPool {
    /// For each position, in row-major order: how many taps of the window lie on elements of an operand with these
    /// spatial extents. The others read `pad_value`. `None` where there are too many positions to tell them apart.
    pub fn elements(&self, extents: &[u64], positions: &[u64]) -> Option<Vec<u64>> {
        let lists = support::Lists {
            size: &self.size,
            stride: &self.stride,
            pad: &self.pad,
            dilation: &self.dilation,
        };
        lists.all_inside(extents, positions, false)
    }
}

impl Infer for SumPool {
    const ARITY: (usize, usize) = (1, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let elem = support::accumulator(support::operand(operands, 0)?.elem, self.accumulator)?;
        let results = support::pool(
            operands,
            &self.size,
            &self.stride,
            &self.pad,
            &self.dilation,
            self.ceil,
            |_| elem,
        )?;
        if operands.get(1).is_some_and(Option::is_some) {
            results
                .iter()
                .try_for_each(|sum| support::picks_channels(operands, 1, &sum.shape))?;
        }
        Ok(results)
    }
}
