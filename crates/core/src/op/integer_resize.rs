//! Linear resampling of codes.

use super::{Coordinate, Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::{Dim, MAX_ELEMENTS};
use smallvec::SmallVec;
use strait_requantize::Rounding;
use strait_requantize::function::{Resampled, Sampling};

op! {
    /// Linear resampling of codes in fraction bits, by [`Resampled`] along each axis whose extent changes: the products of codes
    /// and weights are added exactly, and the sum is rounded once.
    IntegerResize = "integer_resize" v 1 {
        /// Extent of the result per axis.
        sizes: SmallVec<[i64; 4]>,
        /// Which input coordinate an output coordinate stands for.
        coordinate: Coordinate,
        /// Bits of a coordinate behind the point, along each axis.
        fraction: u8,
        /// Rounding of the sum.
        rounding: Rounding,
    }
}

impl IntegerResize {
    /// Axes whose extent changes, at most: an element has twice as many neighbours with each.
    pub const MOST_AXES: usize = 4;
    /// Fraction bits of these axes together, at most: with codes of 16 bits, sums stay below 2^62.
    pub const MOST_BITS: usize = 44;

    /// True if so many axes are resized with so many fraction bits each.
    pub fn takes(axes: usize, fraction: u8) -> bool {
        let bits = usize::from(fraction).saturating_mul(axes);
        (1..=16).contains(&fraction) && axes <= Self::MOST_AXES && bits <= Self::MOST_BITS
    }

    /// The positions of a result along an axis of these extents.
    pub fn along(&self, from: u64, to: u64) -> Resampled {
        let sampling = match self.coordinate {
            Coordinate::PytorchHalfPixel if to <= 1 => Sampling::Asymmetric,
            Coordinate::HalfPixel | Coordinate::PytorchHalfPixel | Coordinate::HalfPixelSymmetric => {
                Sampling::HalfPixel
            }
            Coordinate::AlignCorners => Sampling::AlignCorners,
            Coordinate::Asymmetric | Coordinate::Crop => Sampling::Asymmetric,
        };
        Resampled {
            bits: self.fraction,
            sampling,
            from,
            to,
        }
    }
}

impl Infer for IntegerResize {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let refused = |text: String| Reason::new(ReasonCode::Resize, text);
        let codes = x.elem.int_type().is_some_and(|codes| codes.bits() <= 16);
        let extents = x
            .dims()
            .filter(|dims| codes && dims.len() == self.sizes.len() && !dims.contains(&0));
        support::ensure(self.coordinate != Coordinate::Crop, ReasonCode::Resize, || {
            "codes of a region are not resampled".into()
        })?;
        let extents = extents.ok_or_else(|| refused(format!("{x} is no tensor of codes with the axes of `sizes`")))?;
        let sizes: Option<Vec<u64>> = { self.sizes.iter().map(|&size| u64::try_from(size).ok()) }
            .map(|size| size.filter(|size| (1..=MAX_ELEMENTS).contains(size)))
            .collect();
        let sizes = sizes.ok_or_else(|| refused(format!("{:?} are no extents", self.sizes)))?;
        let resized = extents.iter().zip(&sizes).filter(|(from, to)| from != to).count();
        support::ensure(Self::takes(resized, self.fraction), ReasonCode::Resize, || {
            format!(
                "{resized} axes with {} fraction bits each are none, or more than {} axes or {} bits",
                self.fraction,
                Self::MOST_AXES,
                Self::MOST_BITS
            )
        })?;
        support::one(x.elem, sizes.into_iter().map(Dim::Fixed).collect())
    }
}
