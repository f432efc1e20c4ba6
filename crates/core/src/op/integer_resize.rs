//! Linear resizing of codes.

use super::prelude::*;
use super::resize::Coordinate;
use crate::shape::MAX_ELEMENTS;
use strait_requantize::Rounding;
use strait_requantize::function::{Resampled, Sampling};

op! {
    /// Linear resizing of codes. The weights have a fixed number of fractional bits; [`Resampled`] gives them for each
    /// axis whose extent changes. The products of codes and weights are summed exactly, and the sum is rounded once.
    IntegerResize = "integer_resize" v 1: Integer, 1 {
        /// Extent of the result along each axis.
        sizes: SmallVec<[i64; 4]>,
        /// How an output coordinate is mapped to an input coordinate.
        coordinate: Coordinate,
        /// Number of fractional bits of a coordinate, along each axis.
        fraction: u8,
        /// How the sum is rounded.
        rounding: Rounding,
    }
}

impl IntegerResize {
    /// The largest number of axes whose extent may change. An element of the result is computed from two elements along
    /// each of these axes, so each further axis doubles the work.
    pub const MOST_AXES: usize = 4;
    /// The largest number of fractional bits of all resized axes together. With this limit and 16-bit codes, sums stay
    /// below 2^62.
    pub const MOST_BITS: usize = 44;

    /// True if `axes` axes can be resized with `fraction` fractional bits each.
    pub fn takes(axes: usize, fraction: u8) -> bool {
        let bits = usize::from(fraction).saturating_mul(axes);
        (1..=16).contains(&fraction) && axes <= Self::MOST_AXES && bits <= Self::MOST_BITS
    }

    /// Returns the positions and weights from which elements are interpolated along an axis that is resized from extent
    /// `from` to extent `to`.
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

impl OpFacts for IntegerResize {
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
