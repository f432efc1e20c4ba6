//! Towards a finer grid.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

op! {
    /// (x − zero) · 2^bits in i32, which holds it for every code: a value without its zero point, with room below the
    /// point.
    ShiftLeft = "shift_left" v 1 {
        /// The zero point that is taken away.
        zero: i32,
        /// Shift in bits; for an 8-bit operand at most 23, or 24 for `i8` with zero point 0.
        bits: u8,
    }
}

impl Infer for ShiftLeft {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let codes = match (x.elem, x.elem.int_type()) {
            (Elem::I8 | Elem::U8 | Elem::I16, Some(codes)) => codes,
            (other, _) => return Err(Reason::new(ReasonCode::ShiftLeft, format!("{other} cannot be shifted"))),
        };
        support::ensure(codes.range().contains(&self.zero), ReasonCode::ShiftLeft, || {
            format!("{} is not a code of {}", self.zero, x.elem)
        })?;
        // What every code is shifted to, so that none leaves i32. Differences of codes have 17 bits.
        let shifted = |code: i32| (i64::from(code) - i64::from(self.zero)) << self.bits.min(32);
        let farthest = [codes.min(), codes.max()].map(shifted);
        support::ensure(
            farthest.iter().all(|&x| i32::try_from(x).is_ok()),
            ReasonCode::ShiftLeft,
            || {
                format!(
                    "{} less {}, shifted by {} bits, reaches from {} to {}, which does not fit 32 bits",
                    x.elem, self.zero, self.bits, farthest[0], farthest[1]
                )
            },
        )?;
        support::one(Elem::I32, x.shape.clone())
    }
}
