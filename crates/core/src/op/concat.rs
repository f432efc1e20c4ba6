//! Joins tensors along one axis.

use super::prelude::*;

op! {
    /// Joins the operands one after the other along `axis`. Along every other axis, all operands have the same extent.
    /// On integers, all operands and the result have the same grid.
    Concat = "concat" v 1: Moves, 1 to 65_536 {
        /// The axis; a negative one counts from the end.
        axis: i64,
    }
}

impl OpFacts for Concat {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let first = support::operand(operands, 0)?;
        let axis = support::axis(self.axis, first.shape.len())?;
        let mut shape = first.shape.clone();
        for (index, operand) in operands.iter().enumerate().skip(1) {
            let operand =
                operand.ok_or_else(|| Reason::new(ReasonCode::Arity, format!("operand {index} is absent")))?;
            let same = operand.elem == first.elem
                && operand.shape.len() == shape.len()
                && operand
                    .shape
                    .iter()
                    .zip(&shape)
                    .enumerate()
                    .all(|(a, (x, y))| a == axis || x.may_equal(*y));
            support::ensure(same, ReasonCode::Concat, || {
                format!(
                    "operand {index} is {} {:?}, which does not join {:?}",
                    operand.elem, operand.shape, shape
                )
            })?;
            for (position, (own, other)) in shape.iter_mut().zip(&operand.shape).enumerate() {
                *own = match (own.fixed(), other.fixed()) {
                    (Some(a), Some(b)) if position == axis => {
                        let joined = a.checked_add(b).map(Dim::Fixed);
                        joined.ok_or_else(|| Reason::new(ReasonCode::TooLarge, "the joined axis is too long"))?
                    }
                    _ if position == axis => Dim::OPEN,
                    (None, Some(_)) => *other,
                    _ => *own,
                };
            }
        }
        support::one(first.elem, shape)
    }
}
