//! Comparison of two operands.

use super::prelude::*;

words! {
    /// The relations that [`Compare`] tests. All other relations can be expressed by these: by swapping the operands,
    /// or by negating the result.
    Relation {
        /// a = b; false if a or b is NaN.
        Equal = "equal",
        /// a < b; false if a or b is NaN.
        Less = "less",
        /// a ≤ b; false if a or b is NaN.
        LessOrEqual = "less_or_equal",
    }
}

op! {
    /// Tests a relation for each pair of elements. The result is a boolean, which is true if the relation holds. Both
    /// operands have the same type: floats, i64, booleans, or codes on one grid.
    ///
    /// Operands broadcast as in NumPy.
    Compare = "compare" v 1: 2 {
        /// Which relation to test.
        relation: Relation,
    }
}

impl From<Relation> for super::Op {
    fn from(relation: Relation) -> super::Op {
        Compare { relation }.into()
    }
}

impl OpFacts for Compare {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |_| Elem::Bool)
    }
}
