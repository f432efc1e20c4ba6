//! Mean over windows.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use smallvec::SmallVec;

op! {
    /// The mean of each window of [N, C, spatial…]. On integers: the sum divided by the count, rounded half away from
    /// zero, on the operand's own grid (LiteRT's AVERAGE_POOL_2D).
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

/// Divisors of the sums of windows for their means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divisors {
    /// The numbers that there are, ascending; none of them is 0.
    pub numbers: Vec<u64>,
    /// For each position, in row-major order, the index of its number. Empty where there is only one.
    pub picks: Vec<u32>,
}

impl AveragePool {
    /// The divisors over an operand with these spatial extents and so many positions along each axis: the number of
    /// elements in a window, and of the padding where that counts. What lies behind the padding, where rounding up lets
    /// a window hang over, is never counted.
    ///
    /// # Errors
    /// A window without anything to count, which has no mean; and more positions than could be told apart.
    pub fn divisors(&self, extents: &[u64], positions: &[u64]) -> Result<Divisors, Reason> {
        let counts_all = self.count_include_pad || self.pad.iter().all(|&p| p == 0);
        if counts_all && !self.ceil {
            let whole = self.size.iter().fold(1u64, |n, &s| n.saturating_mul(s.into()));
            return Ok(Divisors {
                numbers: vec![whole],
                picks: Vec::new(),
            });
        }
        let lists = support::Lists {
            size: &self.size,
            stride: &self.stride,
            pad: &self.pad,
            dilation: &self.dilation,
        };
        let counted = lists
            .all_inside(extents, positions, self.count_include_pad)
            .ok_or_else(|| {
                let most = support::MAX_POSITIONS;
                let text = format!("its windows count different numbers of elements, at more than {most} positions");
                Reason::new(ReasonCode::PoolCount, text)
            })?;
        let mut numbers = counted.clone();
        numbers.sort_unstable();
        numbers.dedup();
        support::ensure(numbers.first() != Some(&0), ReasonCode::PoolCount, || {
            "a window has no element to take the mean of".into()
        })?;
        let picks = match numbers.len() {
            0 | 1 => Vec::new(),
            // Each number is found, and there are no more of them than positions.
            _ => (counted.iter())
                .map(|n| numbers.partition_point(|m| m < n) as u32)
                .collect(),
        };
        Ok(Divisors { numbers, picks })
    }
}

impl Infer for AveragePool {
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
