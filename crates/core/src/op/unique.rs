//! The distinct elements of a tensor.

use super::prelude::*;

op! {
    /// The distinct slices along an axis. There are three further results (i64): for each distinct slice, the index of
    /// its first occurrence; for each slice of the operand, its index among the distinct slices; and for each distinct
    /// slice, how often it occurs. Slices are compared by their elements in row-major order.
    Unique = "unique" v 1: Real, 1 {
        /// The axis; a negative one counts from the end.
        axis: i64,
        /// True to sort slices in ascending order, false to keep them in the order in which they first occur.
        sorted: bool,
    }
}

impl OpFacts for Unique {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let axis = support::axis(self.axis, x.shape.len())?;
        let mut shape = x.shape.clone();
        shape[axis] = Dim::OPEN;
        let list = |dim| TensorType {
            elem: Elem::I64,
            shape: smallvec![dim],
        };
        Ok(smallvec![
            TensorType { elem: x.elem, shape },
            list(Dim::OPEN),
            list(x.shape[axis]),
            list(Dim::OPEN)
        ])
    }
}
