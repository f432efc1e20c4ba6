//! Pools regions of an image. An operand gives the regions.

use super::prelude::*;

words! {
    /// What [`RoiAlign`] computes for a bin of a region.
    RoiMode {
        /// The mean of linearly interpolated samples.
        Average = "average",
        /// Each of the four neighbours of a sample is multiplied by its weight in the linear interpolation. The value
        /// of a bin is the largest of these products over all samples of the bin.
        Maximum = "maximum",
        /// The largest element in a bin whose borders are rounded to whole elements; 0 if the bin has no elements.
        Elements = "elements",
    }
}

op! {
    /// Divides regions of images into bins, and computes one value for each bin.
    ///
    /// Operands: `x` `[N, C, H, W]`; `regions` `[R, 4]`, with the corners x1, y1, x2, y2; and `images` `[R]` (i64), the
    /// index of the image for each region. Result: `[R, C, height, width]`.
    RoiAlign = "roi_align" v 1: Real, 3 {
        /// What is computed for a bin.
        mode: RoiMode,
        /// Number of bins of a region vertically.
        height: u32,
        /// Number of bins of a region horizontally.
        width: u32,
        /// Number of samples of a bin along each axis. 0 means the number of elements that the bin covers along the
        /// axis, rounded up.
        sampling: u32,
        /// Factor by which corners are multiplied to get positions in `x`.
        scale: f32,
        /// True to shift corners by half an element, and to allow regions that are smaller than an element. If false, a
        /// region is at least one element wide and high.
        half_pixel: bool,
    }
}

impl OpFacts for RoiAlign {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, regions) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let images = support::operand(operands, 2)?;
        support::all_float(&operands[..2])?;
        let count = regions.shape.first().copied().unwrap_or(Dim::Fixed(0));
        let fits = x.shape.len() == 4
            && regions.shape.as_slice() == [count, Dim::Fixed(4)]
            && images.shape.as_slice() == [count]
            && images.elem == Elem::I64
            && !x.shape[2..].contains(&Dim::Fixed(0));
        support::ensure(fits, ReasonCode::Operands, || {
            format!("{regions} and {images} do not name regions of {x}")
        })?;
        support::ensure(
            self.height > 0 && self.width > 0 && self.scale.is_finite(),
            ReasonCode::Operands,
            || {
                format!(
                    "regions of {} by {} bins, scaled by {}",
                    self.height, self.width, self.scale
                )
            },
        )?;
        let bins = [self.height, self.width].map(|bins| Dim::Fixed(bins.into()));
        let shape: Shape = smallvec![count, x.shape[1], bins[0], bins[1]];
        support::one(x.elem, shape)
    }
}
