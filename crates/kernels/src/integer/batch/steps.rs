use super::{
    Kernel, Prepared,
    constants::{Line, WIDEST},
    prepared,
};
use crate::simd::I32s;
use std::sync::Arc;
use strait_requantize::form::{Arithmetic, Channel};

/// Number of thresholds in a block. One comparison of vectors compares a number with a whole block.
const BLOCK: usize = WIDEST;

/// Number of blocks of a channel. They hold 255 thresholds, and at least one block is padding.
const BLOCKS: usize = 17;

/// The thresholds of a channel, sorted and in blocks. The blocks are padded with `i32::MAX`. The final block consists
/// only of padding. `last` contains the last threshold of each block before it.
#[derive(Clone, Debug)]
struct Thresholds {
    last: Line,
    blocks: [Line; BLOCKS],
}

/// Computes `lowest + #{t in thresholds : t ≤ x}`. First counts the blocks in which all thresholds are at most x, and
/// then the thresholds of the next block that are at most x. Each count is one vector comparison of x with sorted
/// numbers, without a branch. A bisection would need eight steps, each of which depends on the result of the previous
/// one.
#[derive(Clone, Debug)]
pub(super) struct Steps(Box<[Thresholds]>);

/// Makes the kernel with the thresholds of all channels.
pub(super) fn kind(channels: &[Channel<'_>], tensor: bool) -> Option<Arc<dyn Prepared>> {
    let (constants, thresholds): (Vec<_>, Vec<_>) = channels
        .iter()
        .enumerate()
        .map(|(c, channel)| {
            let Arithmetic::Steps(steps) = channel.arithmetic() else {
                return None;
            };
            let count = i32::try_from(steps.thresholds.len()).ok()?;
            Some((
                [i32::try_from(c).ok()?, count, steps.lowest],
                Thresholds::new(steps.thresholds)?,
            ))
        })
        .collect::<Option<_>>()?;
    Some(prepared(Steps(thresholds.into()), &constants, tensor))
}

impl Thresholds {
    /// Puts sorted thresholds into blocks. `None` if no block would be left for padding.
    fn new(sorted: &[i32]) -> Option<Thresholds> {
        let mut last = Line([i32::MAX; WIDEST]);
        let mut blocks = [Line([i32::MAX; WIDEST]); BLOCKS];
        if sorted.len() > BLOCK * (BLOCKS - 1) {
            return None;
        }
        for (block, values) in blocks.iter_mut().zip(sorted.chunks(BLOCK)) {
            block.0[..values.len()].copy_from_slice(values);
        }
        for (last, block) in last.0.iter_mut().zip(&blocks) {
            *last = block.0[BLOCK - 1];
        }
        Some(Thresholds { last, blocks })
    }

    /// Counts the thresholds that are at most `x`. If `x` is `i32::MAX`, padding is counted, too.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn passed<V: I32s>(&self, x: i32) -> usize {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let blocks = V::at_most(&self.last.0, x);
            // `blocks` is at most 16, and the channel has 17 blocks.
            blocks * BLOCK + V::at_most(&self.blocks[blocks].0, x)
        }
    }
}

impl Kernel<3> for Steps {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[channel, count, lowest]: &[V; 3], x: V) -> V {
        let (mut channels, mut lanes) = ([0_i32; WIDEST], [0_i32; WIDEST]);
        // SAFETY: no vector is wider than the arrays, and the caller upholds the trait method's safety contract.
        unsafe {
            channel.store(channels.as_mut_ptr().cast());
            x.store(lanes.as_mut_ptr().cast());
            for (lane, channel) in lanes.iter_mut().zip(channels).take(V::LANES) {
                // Channels are indices, so they are not negative. Counts are below 2^9.
                *lane = self.0[channel as usize].passed::<V>(*lane) as i32;
            }
            V::load(lanes.as_ptr()).min(count).add(lowest)
        }
    }
}
