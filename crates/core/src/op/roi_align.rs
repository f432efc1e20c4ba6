//! Pooling over regions that are an operand.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::{Dim, Shape};
use smallvec::smallvec;

words! {
    /// The number that [`RoiAlign`] makes of a bin of a region.
    RoiMode {
        /// The mean of samples that are interpolated linearly.
        Average = "average",
        /// The largest of the four products of weight and neighbour, over all samples.
        Maximum = "maximum",
        /// The largest whole element in a bin with rounded borders; 0 where there is none.
        Elements = "elements",
    }
}

op! {
    /// Each region of an image, in bins.
    ///
    /// Operands: `x` `[N, C, H, W]`, `regions` `[R, 4]` with the corners x1, y1, x2, y2, and `images` `[R]` (i64), the index
    /// of the image of each. Result `[R, C, height, width]`.
    RoiAlign = "roi_align" v 1 {
        /// The number that a bin gets.
        mode: RoiMode,
        /// Bins down.
        height: u32,
        /// Bins across.
        width: u32,
        /// Samples of a bin along each axis; 0 for as many as it has elements, rounded up.
        sampling: u32,
        /// Elements of `x` for a unit of the corners.
        scale: f32,
        /// True if corners are shifted by half an element, and a region may be as small as it is; otherwise it is at least
        /// one element wide and high.
        half_pixel: bool,
    }
}

impl Infer for RoiAlign {
    const ARITY: (usize, usize) = (3, 3);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let [x, regions, images] = [
            support::operand(operands, 0)?,
            support::operand(operands, 1)?,
            support::operand(operands, 2)?,
        ];
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
