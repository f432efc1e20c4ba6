//! Elements put into a tensor.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

words! {
    /// Which elements of its operand a [`Scatter`] names.
    ScatterBy {
        /// One for each index: at its position, but for one axis, where the index says it.
        Element = "element",
        /// A slice for each list of coordinates, which run along the last axis of the indices.
        Slice = "slice",
    }
}

words! {
    /// The number that a [`Scatter`] makes of the element that is there and the one that is put there.
    Combination {
        /// The new one.
        Replace = "replace",
        /// Their sum.
        Add = "add",
        /// Their product.
        Multiply = "multiply",
        /// The larger one; NaN where one of them is.
        Maximum = "maximum",
        /// The smaller one; NaN where one of them is.
        Minimum = "minimum",
    }
}

op! {
    /// `x` with `updates` put in at the positions that `indices` name (i64; negative ones count from the end), in row-major
    /// order of the updates.
    ///
    /// By element, `indices` and `updates` have one shape, of the rank of `x`, and are not longer along any axis but `axis`. By
    /// slice, the last axis of `indices` has coordinates of the first axes of `x`; `updates` has the other axes of `indices`,
    /// and then those of `x` that have no coordinate. Result as `x`.
    Scatter = "scatter" v 1 {
        /// Kind of thing that an index names.
        by: ScatterBy,
        /// The axis, by element; negative counts from the end.
        axis: i64,
        /// Fate of the element that is there.
        combine: Combination,
    }
}

impl Infer for Scatter {
    const ARITY: (usize, usize) = (3, 3);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let [x, indices, updates] = [
            support::operand(operands, 0)?,
            support::operand(operands, 1)?,
            support::operand(operands, 2)?,
        ];
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
