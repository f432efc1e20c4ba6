//! Writes elements into a tensor.

use super::prelude::*;

words! {
    /// What an index of [`Scatter`] refers to.
    ScatterBy {
        /// Each index refers to one element. The element has the same coordinates as the index, except along one axis,
        /// where its coordinate is the value of the index.
        Element = "element",
        /// The indices along the last axis are the coordinates of a slice.
        Slice = "slice",
    }
}

words! {
    /// How [`Scatter`] combines an existing element with its update.
    Combination {
        /// The update replaces the element.
        Replace = "replace",
        /// The result is the element plus the update.
        Add = "add",
        /// The result is the element times the update.
        Multiply = "multiply",
        /// The result is the larger of the two; NaN if one of them is NaN.
        Maximum = "maximum",
        /// The result is the smaller of the two; NaN if one of them is NaN.
        Minimum = "minimum",
    }
}

op! {
    /// Writes `updates` into a copy of `x`, or combines `updates` with the elements of `x`, at the positions in
    /// `indices` (i64; negative ones count from the end). The updates are applied in row-major order.
    ///
    /// If an index refers to one element, `indices` and `updates` have the same shape. They have the rank of `x`, and
    /// are not longer than `x` along any axis except `axis`. If indices refer to slices, the last axis of `indices` has
    /// coordinates for the first axes of `x`; `updates` has the other axes of `indices`, followed by the axes of `x`
    /// without a coordinate. The result has the type of `x`.
    Scatter = "scatter" v 1: Real, 3 {
        /// What an index refers to.
        by: ScatterBy,
        /// The axis along which an index gives the position, if `by` is `element`; a negative one counts from the end.
        axis: i64,
        /// How the existing element and the update are combined.
        combine: Combination,
    }
}

impl OpFacts for Scatter {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, indices) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let updates = support::operand(operands, 2)?;
        support::ensure(
            indices.elem == Elem::I64 && updates.elem == x.elem,
            ReasonCode::ElementTypes,
            || format!("{updates} is put into {x} at indices of {}", indices.elem),
        )?;
        let fits = match self.by {
            ScatterBy::Element => {
                let axis = support::axis(self.axis, x.shape.len())?;
                support::within(&x.shape, &indices.shape, axis)?;
                support::may_equal(&indices.shape, &updates.shape)
            }
            ScatterBy::Slice => {
                let coordinates = indices.shape.last().and_then(|dim| dim.fixed());
                let coordinates = coordinates.and_then(|n| usize::try_from(n).ok());
                coordinates.filter(|&n| n <= x.shape.len()).is_some_and(|n| {
                    let parts = [&indices.shape[..indices.shape.len() - 1], &x.shape[n..]];
                    support::may_equal(&parts.concat(), &updates.shape)
                })
            }
        };
        support::ensure(fits, ReasonCode::Operands, || {
            format!("{updates} does not fill the places of {indices} in {x}")
        })?;
        support::same(operands)
    }
}
