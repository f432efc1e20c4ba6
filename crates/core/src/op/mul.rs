//! Elementwise product.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// `a` · `b`; on integers (a − a_zero)·(b − b_zero) in i32.
    ///
    /// Operands broadcast as in numpy.
    Mul = "mul" v 1 {
        /// Zero point of `a`; 0 in float.
        a_zero: i32,
        /// Zero point of `b`; 0 in float.
        b_zero: i32,
    }
}

impl Infer for Mul {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, support::accumulator)
    }
}
