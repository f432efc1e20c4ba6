//! Sum over windows.

use super::prelude::*;

op! {
    /// The sum of each window of [N, C, spatial…], on integers only. Padding elements are `pad_value`. The
    /// requantization after the sum can also divide by the number of elements, so that the result is the mean. If
    /// windows have different numbers of elements and the requantization is fused, an optional second operand says
    /// which parameters each element of the result uses; see [`Requantize`](struct@super::Requantize).
    SumPool = "sum_pool" v 2: Accumulates, 1 to 2 {
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
        /// The value of a padding element, which is the zero point of the operand.
        pad_value: i32,
        /// The integer type of the accumulator if the operands are codes. The default is i32. If the operands are not
        /// codes, this field has no effect and is i32.
        accumulator: Carrier,
    }
}

impl SumPool {
    /// Returns how many taps of the window read elements of the operand, for each position of the result in row-major
    /// order. All other taps read `pad_value`. Returns `None` if there are too many positions.
    pub fn elements(&self, extents: &[u64], positions: &[u64]) -> Option<Vec<u64>> {
        self.window().all_inside(extents, positions, false)
    }
}

impl OpFacts for SumPool {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let elem = support::accumulator(support::operand(operands, 0)?.elem, self.accumulator)?;
        let results = support::pool(operands, self.window(), self.ceil, |_| elem)?;
        if operands.get(1).is_some_and(Option::is_some) {
            results
                .iter()
                .try_for_each(|sum| support::picks_channels(operands, 1, &sum.shape))?;
        }
        Ok(results)
    }

    fn channel_axis(&self, _: usize) -> Option<usize> {
        Some(1)
    }

    fn channel_operand(&self) -> Option<usize> {
        Some(1)
    }

    fn zeros(&self) -> SmallVec<[Zero; 2]> {
        smallvec![Zero::padding(self.pad_value, &self.pad)]
    }
}
