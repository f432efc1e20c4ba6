//! Comparison of two operands.

use super::prelude::*;

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
    Compare = "compare" v 1: 2 {
        /// Which relation to test.
        relation: Relation,
    }
}

impl OpFacts for Compare {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |_| Elem::Bool)
    }
}
