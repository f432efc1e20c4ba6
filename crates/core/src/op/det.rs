//! Determinants.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

op! {
    /// The determinant of each square matrix in the last two axes. The result has the axes before these.
    Det = "det" v 1 {}
}

impl Infer for Det {
    const ARITY: (usize, usize) = (1, 1);

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
