//! Comparison of two operands.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::elem::Elem;
use crate::reason::Reason;

words! {
    /// The relations of [`Compare`]. The others are one of these with its operands exchanged, or its negation.
    Relation {
        /// a = b; false where one of them is NaN.
        Equal = "equal",
        /// a < b; false where one of them is NaN.
        Less = "less",
        /// a ≤ b; false where one of them is NaN.
        LessOrEqual = "less_or_equal",
    }
}

op! {
    /// True where the relation holds between the elements of two operands of one type: floats, i64, truth values, or codes
    /// on one grid.
    ///
    /// Operands broadcast as in numpy.
    Compare = "compare" v 1 {
        /// Which relation.
        relation: Relation,
    }
}

impl Infer for Compare {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |_| Elem::Bool)
    }
}
