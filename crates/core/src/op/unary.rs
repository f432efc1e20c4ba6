//! Functions of one variable.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::reason::Reason;

words! {
    /// The functions of [`Unary`], of which a table with 256 entries is the whole of an int8 implementation.
    Function {
        /// 1 / (1 + exp(−x)).
        Sigmoid = "sigmoid",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// x · sigmoid(x), also called swish.
        Silu = "silu",
        /// x · Φ(x) with the error function.
        Gelu = "gelu",
        /// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))).
        GeluTanh = "gelu_tanh",
        /// x · max(0, min(1, x/6 + 1/2)).
        HardSwish = "hard_swish",
        /// x · tanh(softplus(x)).
        Mish = "mish",
        /// ln(1 + exp(x)).
        Softplus = "softplus",
        /// Exponential function.
        Exp = "exp",
        /// Natural logarithm.
        Log = "log",
        /// Square root.
        Sqrt = "sqrt",
        /// 1 / x.
        Reciprocal = "reciprocal",
        /// Error function.
        Erf = "erf",
        /// −x.
        Neg = "neg",
        /// |x|.
        Abs = "abs",
        /// The largest integer that is not above x.
        Floor = "floor",
        /// The smallest integer that is not below x.
        Ceil = "ceil",
        /// The nearest integer, ties to even.
        Round = "round",
        /// −1, 0 or 1.
        Sign = "sign",
        /// Sine of radians.
        Sin = "sin",
        /// Cosine of radians.
        Cos = "cos",
        /// Tangent of radians.
        Tan = "tan",
        /// Inverse sine, in radians.
        Asin = "asin",
        /// Inverse cosine, in radians.
        Acos = "acos",
        /// Inverse tangent, in radians.
        Atan = "atan",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Inverse hyperbolic sine.
        Asinh = "asinh",
        /// Inverse hyperbolic cosine.
        Acosh = "acosh",
        /// Inverse hyperbolic tangent.
        Atanh = "atanh",
    }
}

op! {
    /// A function of one variable, elementwise; of floats, and of i64 where its values are integers: neg, abs and sign.
    Unary = "unary" v 1 {
        /// Which function.
        function: Function,
    }
}

impl Infer for Unary {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
