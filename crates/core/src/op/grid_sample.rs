//! Samples at positions that are an operand.

use super::prelude::*;

words! {
    /// How [`GridSample`] computes a value between elements.
    Sampling {
        /// The nearest element; if two are equally near, the one with the even index.
        Nearest = "nearest",
        /// Linear interpolation along each axis.
        Linear = "linear",
        /// Cubic convolution of the four nearest elements along each axis, with the coefficient −¾.
        Cubic = "cubic",
    }
}

words! {
    /// The values outside of the image in [`GridSample`].
    Border {
        /// Zeros are outside of the image.
        Zeros = "zeros",
        /// The border element continues outside of the image.
        Edge = "border",
        /// The elements inside, mirrored at the border.
        Reflection = "reflection",
    }
}

op! {
    /// Elements of `x` at the positions in `grid`.
    ///
    /// Operands: `x` `[N, C, spatial…]` with S spatial axes, and `grid` `[N, out…, S]` with the same number of axes.
    /// The last axis of `grid` has a coordinate for each spatial axis, starting with the innermost, from −1 at the
    /// begin to 1 at the end. Result: `[N, C, out…]`.
    GridSample = "grid_sample" v 1: Real, 2 {
        /// How values between elements are computed.
        mode: Sampling,
        /// The values outside of the image.
        border: Border,
        /// True if −1 and 1 are the centres of the outermost elements, false if they are their outer edges.
        align_corners: bool,
    }
}

impl OpFacts for GridSample {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, grid) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::all_float(operands)?;
        let spatial = x.shape.len().saturating_sub(2);
        let fits = (1..=4).contains(&spatial)
            && grid.shape.len() == x.shape.len()
            && grid.shape[spatial + 1] == Dim::Fixed(spatial as u64)
            && grid.shape[0] == x.shape[0];
        support::ensure(fits, ReasonCode::Operands, || {
            format!("a grid of {grid} does not name positions in {x}")
        })?;
        // An empty image has nothing to sample.
        let is_empty = x.shape[2..].contains(&Dim::Fixed(0));
        support::ensure(!is_empty, ReasonCode::Operands, || {
            format!("{x} has no elements to sample")
        })?;
        let shape: Shape = x.shape[..2].iter().chain(&grid.shape[1..=spatial]).copied().collect();
        support::one(x.elem, shape)
    }
}
