//! Towards a finer grid.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use crate::elem::Elem;

op! {
    /// (x − zero) · 2^bits in i32: a value without its zero point, with room below the point.
    ShiftLeft = "shift_left" v 1 {
        /// The zero point that is taken away.
        zero: i32,
        /// How far; at most 23 for an 8-bit operand, so that nothing overflows.
        bits: u8,
    }
}

impl Infer for ShiftLeft {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let width = match x.elem {
            Elem::I8 | Elem::U8 => 9,
            Elem::I16 => 17,
            other => return Err(Reason::new("shift-left", format!("{other} cannot be shifted"))),
        };
        support::ensure(u32::from(self.bits) + width <= 32, "shift-left", || {
            format!("{} shifted by {} bits does not fit 32", x.elem, self.bits)
        })?;
        support::ensure(x.elem.int_type().is_some_and(|t| t.range().contains(&self.zero)), "shift-left", || {
            format!("{} is not a code of {}", self.zero, x.elem)
        })?;
        support::one(Elem::I32, x.shape.clone())
    }
}
