//! Ranges of equally spaced numbers.

use super::prelude::*;

op! {
    /// start + i · delta for all i from 0 up to, but not including, n = ⌈(limit − start) / delta⌉. If n is negative,
    /// the result is empty. The operands are start, limit and delta, each a single i64, f32 or f64.
    Range = "range" v 1: Real, 3 {}
}

impl OpFacts for Range {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let start = support::operand(operands, 0)?;
        for operand in operands.iter().flatten() {
            let single = operand.shape.iter().all(|dim| dim.may_equal(Dim::Fixed(1)));
            let number = matches!(operand.elem, Elem::I64 | Elem::F32 | Elem::F64);
            support::ensure(
                single && number && operand.elem == start.elem,
                ReasonCode::Operands,
                || format!("a range of {operand}, where one number of the type of {start} is needed"),
            )?;
        }
        support::one(start.elem, smallvec![Dim::OPEN])
    }
}
