//! Reads an image at positions that an operand gives.

use super::prelude::*;

words! {
    /// How [`GridSample`] computes a value between elements.
    Sampling {
        /// The nearest element. If two are equally near, it is the one with the even index.
        Nearest = "nearest",
        /// Linear interpolation along each axis.
        Linear = "linear",
        /// Cubic convolution of the four nearest elements along each axis, with the coefficient −¾.
        Cubic = "cubic",
    }
}

words! {
    /// What [`GridSample`] reads outside of the image.
    Border {
        /// Outside of the image are zeros.
        Zeros = "zeros",
        /// Outside of the image, the border elements are repeated.
        Edge = "border",
        /// Outside of the image, its elements are mirrored at the border.
        Reflection = "reflection",
    }
}

op! {
    /// Reads `x` at the positions in `grid`, which may lie between elements.
    ///
    /// Operands: `x` `[N, C, spatial…]` with S spatial axes, and `grid` `[N, out…, S]`, which has as many axes as `x`.
    /// The last axis of `grid` has a coordinate for each spatial axis, beginning with the innermost. A coordinate goes
    /// from −1 at the begin of the axis to 1 at its end. Result: `[N, C, out…]`.
    GridSample = "grid_sample" v 1: Real, 2 {
        /// How values between elements are computed.
        mode: Sampling,
        /// What is read outside of the image.
        border: Border,
        /// True if −1 and 1 are the centres of the outermost elements, false if they are the outer edges of these
        /// elements.
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
        // An empty image has no elements that could be read.
        let is_empty = x.shape[2..].contains(&Dim::Fixed(0));
        support::ensure(!is_empty, ReasonCode::Operands, || {
            format!("{x} has no elements to sample")
        })?;
        let shape: Shape = x.shape[..2].iter().chain(&grid.shape[1..=spatial]).copied().collect();
        support::one(x.elem, shape)
    }
}
