//! Functions of one variable for which ONNX has an operator.

use crate::read::row::{Arg, Row};
use strait_core::op::Function;

/// Each function, with its operator and the operator sets in which the versions of the operator appeared.
macro_rules! functions {
    ($($function:ident = $name:literal, $first:literal $(, $later:literal)*;)*) => {
        pub(crate) const ROWS: &[Row] = &[$(
            Row::new($name, $first, |reader| reader.finish(Function::$function, &[Arg::Operand(0)]))
                .and(&[$($later),*]),
        )*];

        /// The ONNX operator for a function; `None` if operator set 17 does not have one.
        pub(crate) fn operator(function: Function) -> Option<&'static str> {
            match function {
                $(Function::$function => ($first <= 17).then_some($name),)*
                _ => None,
            }
        }
    };
}
functions! {
    HardSwish = "HardSwish", 14, 22;
    Sigmoid = "Sigmoid", 6, 13;
    Tanh = "Tanh", 6, 13;
    Softplus = "Softplus", 1, 22;
    Mish = "Mish", 18, 22;
    Exp = "Exp", 6, 13;
    Log = "Log", 6, 13;
    Sqrt = "Sqrt", 6, 13;
    Reciprocal = "Reciprocal", 6, 13;
    Erf = "Erf", 9, 13;
    Neg = "Neg", 6, 13;
    Abs = "Abs", 6, 13;
    Floor = "Floor", 6, 13;
    Ceil = "Ceil", 6, 13;
    Round = "Round", 11, 22;
    Sign = "Sign", 9, 13;
    Sin = "Sin", 7, 22;
    Cos = "Cos", 7, 22;
    Tan = "Tan", 7, 22;
    Asin = "Asin", 7, 22;
    Acos = "Acos", 7, 22;
    Atan = "Atan", 7, 22;
    Sinh = "Sinh", 9, 22;
    Cosh = "Cosh", 9, 22;
    Asinh = "Asinh", 9, 22;
    Acosh = "Acosh", 9, 22;
    Atanh = "Atanh", 9, 22;
}
