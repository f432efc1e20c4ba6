use super::{
    Kernel, Kind,
    constants::{Constants, Line, WIDEST},
};
use crate::simd::I32s;
use strait_requantize::form::{Arithmetic, Channel};

/// Thresholds of a block: one comparison of vectors.
const BLOCK: usize = WIDEST;

/// Blocks of a channel: what 255 thresholds fill, and one more of padding.
const BLOCKS: usize = 17;

/// The thresholds of a channel in sorted blocks, padded with `i32::MAX`, and the last threshold of each block but the
/// padding.
#[derive(Clone, Debug)]
struct Thresholds {
    last: Line,
    blocks: [Line; BLOCKS],
}

/// `lowest + #{t in thresholds : t ≤ x}` by the count of whole blocks passed and the count inside of the next one. Each
/// is one comparison of x with a sorted block: two for an element, without a branch, where a bisection has eight that
/// wait for each other.
#[derive(Clone, Debug)]
pub(super) struct Steps(Box<[Thresholds]>);

/// The kernel for all channels.
pub(super) fn kind(channels: &[Channel<'_>], tensor: bool) -> Option<Kind> {
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
    Some(Kind::Steps(
        Constants::new(&constants, tensor),
        Steps(thresholds.into()),
    ))
}

impl Thresholds {
    /// `None` where the padding would not leave a block of its own.
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

    /// Number of thresholds at most `x`, the padding too where `x` is `i32::MAX`.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    #[inline(always)]
    unsafe fn passed<V: I32s>(&self, x: i32) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            let blocks = V::at_most(&self.last.0, x);
            // At most 16 of 17.
            blocks * BLOCK + V::at_most(&self.blocks[blocks].0, x)
        }
    }
}

impl Kernel<3> for Steps {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[channel, count, lowest]: &[V; 3], x: V) -> V {
        let (mut channels, mut lanes) = ([0_i32; WIDEST], [0_i32; WIDEST]);
        // SAFETY: no vector is wider than the arrays; the caller's promise.
        unsafe {
            channel.store(channels.as_mut_ptr().cast());
            x.store(lanes.as_mut_ptr().cast());
            for (lane, channel) in lanes.iter_mut().zip(channels).take(V::LANES) {
                // Channels are indices from 0 on, counts below 2^9.
                *lane = self.0[channel as usize].passed::<V>(*lane) as i32;
            }
            V::load(lanes.as_ptr()).min(count).add(lowest)
        }
    }
}
