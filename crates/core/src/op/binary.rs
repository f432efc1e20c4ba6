//! Functions of two operands that have no accumulator.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

words! {
    /// The functions of [`Binary`].
    BinaryFunction {
        /// The smaller operand; NaN where one of them is.
        Minimum = "minimum",
        /// The larger operand; NaN where one of them is.
        Maximum = "maximum",
        /// The remainder of a division whose quotient is rounded down: it has the sign of the divisor.
        Modulo = "modulo",
        /// The remainder of a division whose quotient is truncated: it has the sign of the dividend.
        Remainder = "remainder",
        /// Both: bit by bit, or of truth values.
        And = "and",
        /// One or both: bit by bit, or of truth values.
        Or = "or",
        /// Just one: bit by bit, or of truth values.
        Xor = "xor",
        /// The bits of the first operand towards the high ones, by as many as the second says; 0 from 64 on.
        ShiftLeft = "bit_shift_left",
        /// The bits of the first operand towards the low ones, the sign spread behind them; nothing but the sign from 64 on.
        ShiftRight = "bit_shift_right",
        /// The bits of the first operand, read without a sign, towards the low ones; 0 from 64 on.
        ShiftRightUnsigned = "bit_shift_right_unsigned",
    }
}

op! {
    /// A function of two operands of one type, element by element: floats, i64 or truth values, as far as the function
    /// is one of them. Of codes on one grid it is the smaller or the larger one.
    ///
    /// Operands broadcast as in numpy.
    Binary = "binary" v 1 {
        /// Which function.
        function: BinaryFunction,
    }
}

impl Infer for Binary {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let elem = support::operand(operands, 0)?.elem;
        let fits = match self.function {
            // Codes of one grid are ordered as the real numbers that they stand for.
            BinaryFunction::Minimum | BinaryFunction::Maximum => {
                elem.is_float() || elem == Elem::I64 || matches!(elem, Elem::I8 | Elem::U8 | Elem::I16 | Elem::U16)
            }
            BinaryFunction::Modulo | BinaryFunction::Remainder => elem.is_float() || elem == Elem::I64,
            BinaryFunction::And | BinaryFunction::Or | BinaryFunction::Xor => matches!(elem, Elem::I64 | Elem::Bool),
            BinaryFunction::ShiftLeft | BinaryFunction::ShiftRight | BinaryFunction::ShiftRightUnsigned => {
                elem == Elem::I64
            }
        };
        support::ensure(fits, ReasonCode::ElementTypes, || {
            format!("{} is no function of {elem}", self.function.name())
        })?;
        support::binary(operands, |elem| elem)
    }
}
