//! Cumulative sums and products.

use super::prelude::*;

words! {
    /// What [`Cumulative`] computes.
    Running {
        /// Cumulative sums.
        Sum = "sum",
        /// Cumulative products.
        Product = "product",
    }
}

op! {
    /// For each position along an axis, the sum or product of all elements from the first to that position, computed in
    /// this order.
    Cumulative = "cumulative" v 1: Real, 1 {
        /// Whether sums or products are computed.
        of: Running,
        /// The axis; a negative one counts from the end.
        axis: i64,
        /// True to leave out the element at the position itself. The result at the first position is then 0 for a sum,
        /// or 1 for a product.
        exclusive: bool,
        /// True to go from the end of the axis to its begin.
        reverse: bool,
    }
}

impl OpFacts for Cumulative {
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
