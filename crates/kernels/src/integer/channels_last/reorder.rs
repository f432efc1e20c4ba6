//! Moves elements between planes and positions with all channels.

use crate::context::Context;
use crate::error::{KernelError, expect_len, product};
use crate::parallel::{Shared, for_each};
use crate::simd::{Job, Simd};

/// The order of the elements of images with `channels` channels and `positions` positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `[channels, positions]`: each channel is a plane.
    Planes,
    /// `[positions, stride]`: channels are last. From one position to the next there are `stride` elements, at least as
    /// many as channels. Elements beyond the channels have no meaning.
    Last {
        /// Number of elements from one position to the next.
        stride: usize,
    },
}

impl Order {
    /// Number of elements of an image in this order; `None` if it overflows.
    pub fn elements(self, channels: usize, positions: usize) -> Option<usize> {
        match self {
            Order::Planes => product(&[channels, positions]),
            Order::Last { stride } => product(&[stride, positions]),
        }
    }
}

/// Number of positions that a task moves.
const POSITIONS: usize = 256;
/// Number of channels and of positions of a block that stays in registers.
const BLOCK: usize = 16;

/// Copies images from one order to the other. Elements have `width` bytes: 1, 2, 4 or 8.
///
/// # Errors
/// [`KernelError::Shape`] if the slices do not fit the extents `[batch, channels, positions]`, or if the width is another
/// one.
pub fn reorder(
    cx: &Context,
    [batch, channels, positions]: [usize; 3],
    width: usize,
    [from, to]: [Order; 2],
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let bytes = |order: Order| product(&[order.elements(channels, positions)?, batch, width]);
    expect_len("the input", input.len(), bytes(from))?;
    expect_len("the output", out.len(), bytes(to))?;
    for order in [from, to] {
        if let Order::Last { stride } = order
            && stride < channels
        {
            return Err(KernelError::Shape(format!(
                "{channels} channels with a stride of {stride}"
            )));
        }
    }
    match width {
        1 => moved::<1>(cx, [batch, channels, positions], [from, to], input, out),
        2 => moved::<2>(cx, [batch, channels, positions], [from, to], input, out),
        4 => moved::<4>(cx, [batch, channels, positions], [from, to], input, out),
        8 => moved::<8>(cx, [batch, channels, positions], [from, to], input, out),
        _ => return Err(KernelError::Shape(format!("elements of {width} bytes"))),
    }
    Ok(())
}

fn moved<const W: usize>(
    cx: &Context,
    [batch, channels, positions]: [usize; 3],
    orders: [Order; 2],
    input: &[u8],
    out: &mut [u8],
) {
    let (input, out) = (input.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
    if input.is_empty() || out.is_empty() {
        return;
    }
    let (from, to) = (input.len() / batch, out.len() / batch);
    let parts = positions.div_ceil(POSITIONS);
    let steps = batch * channels * positions;
    let out = &Shared::new(out);
    for_each(batch * parts, steps, &|task| {
        let (b, first) = (task / parts, task % parts * POSITIONS);
        cx.run(Moved {
            channels,
            positions,
            orders,
            input: &input[b * from..(b + 1) * from],
            // The elements of different positions are different ones.
            out,
            base: b * to,
            first,
            count: POSITIONS.min(positions - first),
        });
    });
}

/// A job that moves the elements of some positions.
struct Moved<'a, 'b, const W: usize> {
    channels: usize,
    positions: usize,
    orders: [Order; 2],
    input: &'a [[u8; W]],
    out: &'a Shared<'b, [u8; W]>,
    base: usize,
    first: usize,
    count: usize,
}

impl<const W: usize> Job for Moved<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Moved {
            channels,
            positions,
            orders,
            input,
            out,
            base,
            first,
            count,
        } = self;
        // For each order, the distances between neighbouring channels and between neighbouring positions.
        let [[from_c, from_p], [to_c, to_p]] = orders.map(|order| match order {
            Order::Planes => [positions, 1],
            Order::Last { stride } => [1, stride],
        });
        if let (1, [Order::Planes, Order::Last { stride: 4 }], 1..=4) = (W, orders, channels) {
            // SAFETY: each task writes its own positions.
            let to = unsafe { out.slice(base + 4 * first, 4 * count) };
            let plane = |c: usize| &input[c.min(channels - 1) * positions + first..][..count];
            let planes = [plane(0), plane(1), plane(2), plane(3)];
            for (i, to) in to.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *to = [planes[0][i], planes[1][i], planes[2][i], planes[3][i]];
            }
            return;
        }
        for c in (0..channels).step_by(BLOCK) {
            for p in (first..first + count).step_by(BLOCK) {
                let (height, width) = (BLOCK.min(channels - c), BLOCK.min(first + count - p));
                let mut block = [[[0; W]; BLOCK]; BLOCK];
                // The block is `[positions][channels]`.
                if from_c == 1 {
                    for (i, row) in block.iter_mut().enumerate().take(width) {
                        row[..height].copy_from_slice(&input[(p + i) * from_p + c..][..height]);
                    }
                } else {
                    for j in 0..height {
                        let elements = &input[(c + j) * from_c + p..][..width];
                        for (row, &element) in block.iter_mut().zip(elements) {
                            row[j] = element;
                        }
                    }
                }
                if to_c == 1 {
                    for (i, row) in block.iter().enumerate().take(width) {
                        // SAFETY: each task writes its own positions, and the borrow ends before the next row.
                        let to = unsafe { out.slice(base + (p + i) * to_p + c, height) };
                        to.copy_from_slice(&row[..height]);
                    }
                } else {
                    for j in 0..height {
                        // SAFETY: as above, each task writes its own positions.
                        let to = unsafe { out.slice(base + (c + j) * to_c + p, width) };
                        for (to, row) in to.iter_mut().zip(&block) {
                            *to = row[j];
                        }
                    }
                }
            }
        }
    }
}
