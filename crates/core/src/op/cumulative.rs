//! Running sums and products.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

words! {
    /// The number that a [`Cumulative`] makes of the elements so far.
    Running {
        /// Their sum.
        Sum = "sum",
        /// Their product.
        Product = "product",
    }
}

op! {
    /// The sum or the product of all elements along an axis up to each position, one after the other.
    Cumulative = "cumulative" v 1 {
        /// Sum or product.
        of: Running,
        /// The axis; negative counts from the end.
        axis: i64,
        /// True to leave out the element at the position itself: the first result is then 0, or 1.
        exclusive: bool,
        /// True to begin at the end.
        reverse: bool,
    }
}

impl Infer for Cumulative {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(
            x.elem.is_float() || x.elem == Elem::I64,
            ReasonCode::ElementTypes,
            || format!("running sums of {}", x.elem),
        )?;
        support::axis(self.axis, x.shape.len())?;
        support::same(operands)
    }
}
