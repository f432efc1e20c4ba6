//! Selects elements from one of two operands by a condition.

use super::prelude::*;

op! {
    /// Takes the element of `a` where `condition` is true, and the element of `b` where it is false. Operands:
    /// `condition` (boolean), and `a` and `b` of the same type.
    ///
    /// Operands broadcast as in NumPy.
    Select = "select" v 1: Moves, 3 {}
}

impl OpFacts for Select {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let condition = support::operand(operands, 0)?;
        let [a, b] = [support::operand(operands, 1)?, support::operand(operands, 2)?];
        support::ensure(
            condition.elem == Elem::Bool && a.elem == b.elem,
            ReasonCode::ElementTypes,
            || {
                format!(
                    "a condition of {} chooses between {} and {}",
                    condition.elem, a.elem, b.elem
                )
            },
        )?;
        let shape = support::broadcast(&condition.shape, &support::broadcast(&a.shape, &b.shape)?)?;
        support::one(a.elem, shape)
    }
}
