//! The position of the largest or the smallest element.

use super::prelude::*;

words! {
    /// Which element [`ArgReduce`] looks for.
    Extreme {
        /// The largest element.
        Maximum = "maximum",
        /// The smallest element.
        Minimum = "minimum",
    }
}

op! {
    /// The index (i64) of the largest or the smallest element along an axis. If several elements are equal, the result
    /// is the index of the first or of the last of them. A NaN counts as the largest element, and also as the smallest.
    ArgReduce = "arg_reduce" v 1: Real, 1 {
        /// Which element to look for.
        extreme: Extreme,
        /// The axis; a negative one counts from the end.
        axis: i64,
        /// True to keep the axis, with an extent of 1.
        keep_dims: bool,
        /// If several elements are equal: true to return the last one, false to return the first one.
        last: bool,
    }
}

impl OpFacts for ArgReduce {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let axis = support::axis(self.axis, x.shape.len())?;
        support::not_empty(x, axis)?;
        let mut shape = x.shape.clone();
        if self.keep_dims {
            shape[axis] = Dim::Fixed(1);
        } else {
            shape.remove(axis);
        }
        support::one(Elem::I64, shape)
    }
}
