//! Adds overlapping blocks into an image. This is the second half of a transposed convolution.

use crate::{
    error::{KernelError, expect_len, product},
    parallel::for_each_chunk,
};

/// Says how the blocks that [`col2im`] adds up lie in an image of up to three axes. If the image has fewer axes, the
/// leading extents are 1. A block has one element for each tap of a kernel. Along each axis, tap k of the block at
/// position p lies at p·stride + k·dilation − begin, which may be outside of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Extents of the image.
    pub image: [usize; 3],
    /// Number of block positions along each axis.
    pub positions: [usize; 3],
    /// Number of taps along each axis.
    pub kernel: [usize; 3],
    /// Distance between neighbouring blocks, along each axis.
    pub stride: [usize; 3],
    /// Distance between neighbouring taps of a block, along each axis.
    pub dilation: [usize; 3],
    /// Number of elements that are cut off before the start of the image, along each axis.
    pub begin: [usize; 3],
}

impl Blocks {
    /// Number of taps in a block.
    pub fn taps(&self) -> Option<usize> {
        product(&self.kernel)
    }

    /// The number of blocks.
    pub fn count(&self) -> Option<usize> {
        product(&self.positions)
    }

    /// Finds the blocks whose tap `tap` lies in the image along an axis. Returns the positions of these blocks, and the
    /// image coordinate at which this tap of the first block lies.
    fn inside(&self, axis: usize, tap: usize) -> (std::ops::Range<usize>, usize) {
        let (stride, begin) = (self.stride[axis], self.begin[axis]);
        let at = tap * self.dilation[axis];
        let first = begin.saturating_sub(at).div_ceil(stride);
        let end = (self.image[axis] + begin).saturating_sub(at).div_ceil(stride);
        let end = end.min(self.positions[axis]);
        (first.min(end)..end, (first * stride + at).saturating_sub(begin))
    }
}

/// Computes `out[c, image…] = bias[c] + Σ columns[c, tap, position]`: each image element is the sum of the block
/// elements that lie on it. The block elements are added in ascending order of taps.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents of `blocks` and as many channels as `out`;
/// [`KernelError::Size`] if a sum of extents overflows.
pub fn col2im(blocks: &Blocks, columns: &[f32], bias: Option<&[f32]>, out: &mut [f32]) -> Result<(), KernelError> {
    let too_large = || KernelError::Size(format!("blocks in an image of {:?}", blocks.image));
    let plane = product(&blocks.image).ok_or_else(too_large)?;
    let (taps, count) = (
        blocks.taps().ok_or_else(too_large)?,
        blocks.count().ok_or_else(too_large)?,
    );
    for axis in 0..3 {
        let reach = blocks.kernel[axis]
            .checked_mul(blocks.dilation[axis])
            .ok_or_else(too_large)?;
        let span = blocks.positions[axis]
            .checked_mul(blocks.stride[axis])
            .ok_or_else(too_large)?;
        let sum = reach
            .checked_add(span)
            .and_then(|sum| sum.checked_add(blocks.begin[axis]));
        sum.and_then(|sum| sum.checked_add(blocks.image[axis]))
            .ok_or_else(too_large)?;
        if blocks.stride[axis] == 0 {
            return Err(KernelError::Shape("blocks with a stride of zero".into()));
        }
    }
    if out.is_empty() {
        return Ok(());
    }
    let channels = out.len() / plane.max(1);
    expect_len("the image", out.len(), product(&[channels, plane]))?;
    expect_len("the columns", columns.len(), product(&[channels, taps, count]))?;
    if let Some(bias) = bias {
        expect_len("the bias", bias.len(), Some(channels))?;
    }
    let steps = columns.len();
    for_each_chunk(out, plane, steps, |channel, plane| {
        plane.fill(bias.map_or(0.0, |bias| bias[channel]));
        let columns = &columns[channel * taps * count..(channel + 1) * taps * count];
        add(blocks, columns, plane);
    });
    Ok(())
}

/// Adds the blocks of one channel into its plane of the image.
fn add(blocks: &Blocks, columns: &[f32], plane: &mut [f32]) {
    let [_, rows, width] = blocks.image;
    let [_, row_positions, column_positions] = blocks.positions;
    let [layers, heights, widths] = blocks.kernel;
    let step = blocks.stride[2];
    let mut tap = 0;
    for k in 0..layers {
        let (deep, z) = blocks.inside(0, k);
        for i in 0..heights {
            let (down, y) = blocks.inside(1, i);
            for j in 0..widths {
                let (right, x) = blocks.inside(2, j);
                let of_tap = tap * blocks.positions[0];
                tap += 1;
                if right.is_empty() {
                    continue;
                }
                for (p, z) in deep.clone().zip((z..).step_by(blocks.stride[0])) {
                    for (q, y) in down.clone().zip((y..).step_by(blocks.stride[1])) {
                        let row = ((of_tap + p) * row_positions + q) * column_positions;
                        let from = &columns[row + right.start..row + right.end];
                        let to = &mut plane[(z * rows + y) * width + x..];
                        if step == 1 {
                            to.iter_mut().zip(from).for_each(|(to, &from)| *to += from);
                        } else {
                            to.iter_mut()
                                .step_by(step)
                                .zip(from)
                                .for_each(|(to, &from)| *to += from);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(positions: usize, kernel: usize, stride: usize, begin: usize, image: usize) -> Blocks {
        Blocks {
            image: [1, 1, image],
            positions: [1, 1, positions],
            kernel: [1, 1, kernel],
            stride: [1, 1, stride],
            dilation: [1; 3],
            begin: [0, 0, begin],
        }
    }

    #[test]
    fn blocks_that_overlap_add_up_and_what_is_outside_is_left_out() {
        // Two blocks of three taps that begin two positions apart, so that both contain position 2.
        let columns = [1.0, 2.0, 10.0, 20.0, 100.0, 200.0];
        let mut out = [0.0; 5];
        col2im(&row(2, 3, 2, 0, 5), &columns, Some(&[0.5]), &mut out).unwrap();
        assert_eq!(out, [1.5, 10.5, 102.5, 20.5, 200.5]);
        let mut out = [0.0; 3];
        col2im(&row(2, 3, 2, 1, 3), &columns, None, &mut out).unwrap();
        assert_eq!(out, [10.0, 102.0, 20.0]);
    }

    #[test]
    fn each_tap_of_a_volume_lies_where_it_says() {
        let blocks = Blocks {
            image: [3, 4, 5],
            positions: [2, 3, 2],
            kernel: [2, 2, 3],
            stride: [2, 1, 3],
            dilation: [1, 2, 1],
            begin: [1, 1, 2],
        };
        let columns: Vec<f32> = (0..2 * 12 * 12).map(|i| (i % 23) as f32).collect();
        let mut out = vec![0.0; 2 * 60];
        col2im(&blocks, &columns, None, &mut out).unwrap();
        let mut expected = vec![0.0; 2 * 60];
        let unravel = |mut index: usize, extents: [usize; 3]| {
            let mut at = [0; 3];
            for axis in (0..3).rev() {
                at[axis] = index % extents[axis];
                index /= extents[axis];
            }
            at
        };
        for (index, value) in columns.iter().enumerate() {
            let (channel, tap, position) = (index / 144, index / 12 % 12, index % 12);
            let (tap, position) = (unravel(tap, blocks.kernel), unravel(position, blocks.positions));
            let at = [0, 1, 2].map(|axis| {
                let at = position[axis] * blocks.stride[axis] + tap[axis] * blocks.dilation[axis];
                at as i64 - blocks.begin[axis] as i64
            });
            if (0..3).all(|axis| (0..blocks.image[axis] as i64).contains(&at[axis])) {
                expected[channel * 60 + (at[0] * 20 + at[1] * 5 + at[2]) as usize] += value;
            }
        }
        assert_eq!(out, expected);
    }

    #[test]
    fn slices_of_other_extents_are_refused() {
        assert!(col2im(&row(2, 3, 2, 0, 5), &[0.0; 5], None, &mut [0.0; 5]).is_err());
        assert!(col2im(&row(2, 3, 0, 0, 5), &[0.0; 6], None, &mut [0.0; 5]).is_err());
        assert!(col2im(&row(usize::MAX, 3, 2, 0, 5), &[0.0; 6], None, &mut [0.0; 5]).is_err());
    }
}
