//! Determinants.

use super::prelude::*;

op! {
    /// The determinant of each square matrix in the last two axes. The result has only the axes before those two.
    Det = "det" v 1: Real, 1 {}
}

impl OpFacts for Det {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::all_float(operands)?;
        let (batch, rows) = match x.shape[..] {
            [ref batch @ .., rows, columns] if rows == columns => (batch, rows),
            _ => return Err(Reason::new(ReasonCode::Operands, format!("{x} has no square matrices"))),
        };
        support::ensure(rows.fixed().is_some(), ReasonCode::Operands, || {
            "the matrices have a symbolic extent; bind it to a number".into()
        })?;
        support::one(x.elem, batch.into())
    }
}
