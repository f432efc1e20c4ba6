//! Comparison of two operands.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::elem::Elem;
use crate::reason::Reason;

words! {
    /// The relations that [`Compare`] tests. Any other relation is one of these with swapped operands, or its negation.
    Relation {
        /// a = b; false if one of them is NaN.
        Equal = "equal",
        /// a < b; false if one of them is NaN.
        Less = "less",
        /// a ≤ b; false if one of them is NaN.
        LessOrEqual = "less_or_equal",
    }
}

op! {
    /// True where the relation is true between the elements of two operands. Both have the same type: floats, i64,
    /// booleans, or codes on one grid.
    ///
    /// Operands broadcast as in NumPy.
    Compare = "compare" v 1 {
        /// Which relation to test.
        relation: Relation,
    }
}

impl Infer for Compare {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |_| Elem::Bool)
    }
}
