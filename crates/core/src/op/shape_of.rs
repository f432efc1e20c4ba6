//! The shape of a tensor as numbers.

use super::prelude::*;

op! {
    /// The extents of the operand, outermost first (i64). Extents that depend on data are read at run time.
    ShapeOf = "shape_of" v 1: Real, 1 {}
}

impl OpFacts for ShapeOf {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let rank = support::operand(operands, 0)?.shape.len() as u64;
        support::one(Elem::I64, smallvec![Dim::Fixed(rank)])
    }
}
