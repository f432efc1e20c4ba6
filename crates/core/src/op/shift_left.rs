//! Shifts codes to a finer grid.

use super::prelude::*;

op! {
    /// (x − zero) · 2^bits. The result has an integer type that can hold this product for every code. Its zero point is
    /// 0, and it has a scale that is 2^bits times smaller than that of the operand.
    ShiftLeft = "shift_left" v 2: Integer, 1 {
        /// The zero point that is subtracted.
        zero: i32,
        /// The shift in bits. If the operand has 8 bits and the result is i32, the shift is at most 23, or 24 for `i8`
        /// with zero point 0.
        bits: u8,
        /// The type of the result; i32 by default.
        accumulator: Carrier,
    }
}

impl OpFacts for ShiftLeft {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let codes = match (x.elem, x.elem.int_type()) {
            (other, Some(codes)) if other != Elem::I32 => codes,
            (other, _) => return Err(Reason::new(ReasonCode::ShiftLeft, format!("{other} cannot be shifted"))),
        };
        support::ensure(codes.range().contains(&self.zero), ReasonCode::ShiftLeft, || {
            format!("{} is not a code of {}", self.zero, x.elem)
        })?;
        // The accumulator must be able to hold the shifted value of every code. A code minus the zero point has at most
        // 17 bits.
        let shifted = |code: i32| (i128::from(code) - i128::from(self.zero)) << self.bits.min(64);
        let holds = |x: &i128| match self.accumulator {
            Carrier::I32 => i32::try_from(*x).is_ok(),
            Carrier::I64 => i64::try_from(*x).is_ok(),
        };
        let farthest = [codes.min(), codes.max()].map(shifted);
        support::ensure(farthest.iter().all(holds), ReasonCode::ShiftLeft, || {
            format!(
                "{} less {}, shifted by {} bits, reaches from {} to {}, which does not fit {} bits",
                x.elem,
                self.zero,
                self.bits,
                farthest[0],
                farthest[1],
                self.accumulator.elem().bits()
            )
        })?;
        support::one(self.accumulator.elem(), x.shape.clone())
    }
}
