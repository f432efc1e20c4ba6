//! Mean over windows.

use super::prelude::*;

op! {
    /// The mean of each window of [N, C, spatial…]. On integers it is the sum divided by the count, rounded half away
    /// from zero, on the operand's own grid (as in LiteRT's AVERAGE_POOL_2D).
    AveragePool = "average_pool" v 1: Divides, 1 {
        /// Size of the window along each spatial axis.
        size: SmallVec<[u32; 2]>,
        /// Stride along each spatial axis.
        stride: SmallVec<[u32; 2]>,
        /// Padding: all begins, then all ends.
        pad: SmallVec<[u32; 4]>,
        /// Dilation along each spatial axis.
        dilation: SmallVec<[u32; 2]>,
        /// True to round the number of windows up. Windows that would start in the trailing padding are dropped.
        ceil: bool,
        /// True if padding counts in the divisor.
        count_include_pad: bool,
    }
}

/// The divisors by which the sums of windows become means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divisors {
    /// The different divisors, in ascending order; none is 0.
    pub numbers: Vec<u64>,
    /// For each position, in row-major order: the index of its divisor in `numbers`. Empty if there is only one
    /// divisor.
    pub picks: Vec<u32>,
}

impl AveragePool {
    /// The divisors for an operand with these spatial extents, and this number of positions along each axis. A divisor
    /// is the number of elements in a window, and also of padding elements if these count. If rounding up makes a
    /// window reach beyond the padding, that part never counts.
    ///
    /// # Errors
    /// A window has nothing to count, so it has no mean; or there are too many positions.
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
            // Every count is in `numbers`, which has no more entries than there are positions.
            _ => (counted.iter())
                .map(|n| numbers.partition_point(|m| m < n) as u32)
                .collect(),
        };
        Ok(Divisors { numbers, picks })
    }
}

impl OpFacts for AveragePool {
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

    fn channel_axis(&self, _: usize) -> Option<usize> {
        Some(1)
    }
}
