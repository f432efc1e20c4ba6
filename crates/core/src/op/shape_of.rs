//! The shape of a tensor as numbers.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::shape::Dim;
use smallvec::smallvec;

op! {
    /// The extents of the operand, outermost first (i64). If they depend on data, they are known at run time.
    ShapeOf = "shape_of" v 1 {}
}

impl Infer for ShapeOf {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let rank = support::operand(operands, 0)?.shape.len() as u64;
        support::one(Elem::I64, smallvec![Dim::Fixed(rank)])
    }
}
