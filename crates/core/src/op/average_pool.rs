//! Mean over windows.

use super::prelude::*;
use crate::shape::window_elements;

op! {
    /// The mean of each window of [N, C, spatial…]. On integers, the mean is the sum divided by the count, rounded half
    /// away from zero, on the operand's own grid (as in LiteRT's AVERAGE_POOL_2D).
    AveragePool = "average_pool" v 1: Divides, 1 {
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
        /// True if padding elements count towards the divisor.
        count_include_pad: bool,
    }
}

/// The numbers by which the sums of windows are divided to get means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divisors {
    /// The different divisors, in ascending order; none is 0.
    pub numbers: Vec<u64>,
    /// For each position of the result, in row-major order: the index of its divisor in `numbers`. Empty if there is
    /// only one divisor.
    pub picks: Vec<u32>,
}

impl AveragePool {
    /// Computes the divisors for an operand with the spatial extents `extents`, and a result with `positions` elements
    /// along each axis. A divisor is the number of elements in a window. Padding elements count if `count_include_pad`
    /// is set. If the number of windows was rounded up, a window can reach beyond the padding. Elements beyond the
    /// padding never count.
    ///
    /// # Errors
    /// A window has no elements that count, so it has no mean; or there are too many positions.
    pub fn divisors(&self, extents: &[u64], positions: &[u64]) -> Result<Divisors, Reason> {
        let counts_all = self.count_include_pad || self.pad.iter().all(|&p| p == 0);
        if counts_all && !self.ceil {
            let numbers = vec![window_elements(&self.size)];
            let picks = Vec::new();
            return Ok(Divisors { numbers, picks });
        }
        let counted = self.window().all_inside(extents, positions, self.count_include_pad);
        let counted = counted.ok_or_else(|| {
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
            // `numbers` has every count, at an index below the number of positions, which fits in a u32.
            _ => (counted.iter())
                .map(|n| numbers.partition_point(|m| m < n) as u32)
                .collect(),
        };
        Ok(Divisors { numbers, picks })
    }
}

impl OpFacts for AveragePool {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::pool(operands, self.window(), self.ceil, |elem| elem)
    }

    fn channel_axis(&self, _: usize) -> Option<usize> {
        Some(1)
    }
}
