//! Functions of two operands that do not need an accumulator.

use super::prelude::*;

words! {
    /// The functions that [`Binary`] computes.
    BinaryFunction {
        /// The smaller operand; NaN if one of the operands is NaN.
        Minimum = "minimum",
        /// The larger operand; NaN if one of the operands is NaN.
        Maximum = "maximum",
        /// The remainder of a division that rounds down. The remainder has the sign of the divisor.
        Modulo = "modulo",
        /// The remainder of a division that truncates. The remainder has the sign of the dividend.
        Remainder = "remainder",
        /// Bitwise and, or logical and on booleans.
        And = "and",
        /// Bitwise or, or logical or on booleans.
        Or = "or",
        /// Bitwise exclusive or, or logical exclusive or on booleans.
        Xor = "xor",
        /// Shifts the first operand left; the second operand is the number of bits. A shift by 64 bits or more gives 0.
        ShiftLeft = "bit_shift_left",
        /// Shifts the first operand right and keeps the sign (arithmetic shift); the second operand is the number of
        /// bits. A shift by 64 bits or more gives 0 or −1.
        ShiftRight = "bit_shift_right",
        /// Shifts the first operand right as an unsigned number (logical shift); the second operand is the number of
        /// bits. A shift by 64 bits or more gives 0.
        ShiftRightUnsigned = "bit_shift_right_unsigned",
    }
}

op! {
    /// A function of two operands of the same type, applied to each pair of elements. Depending on the function, the
    /// operands are floats, i64 or booleans. Minimum and maximum also take codes, if both operands are on the same
    /// grid.
    ///
    /// Operands broadcast as in NumPy.
    Binary = "binary" v 1: 2 {
        /// Which function to compute.
        function: BinaryFunction,
    }
}

impl From<BinaryFunction> for super::Op {
    fn from(function: BinaryFunction) -> super::Op {
        Binary { function }.into()
    }
}

impl OpFacts for Binary {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let elem = support::operand(operands, 0)?.elem;
        let fits = match self.function {
            // Codes on one grid have the same order as the real numbers that they stand for, so minimum and maximum
            // accept codes.
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
