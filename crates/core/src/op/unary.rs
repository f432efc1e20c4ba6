//! Functions of one variable.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::reason::Reason;

words! {
    /// The functions that [`Unary`] computes. For int8, a table of 256 entries implements any of them.
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
        /// The sign: −1, 0 or 1.
        Sign = "sign",
        /// Sine, in radians.
        Sin = "sin",
        /// Cosine, in radians.
        Cos = "cos",
        /// Tangent, in radians.
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
    /// A function of one variable, applied to each element. It works on floats, and on i64 if its results are integers:
    /// neg, abs and sign.
    Unary = "unary" v 1 {
        /// Which function to compute.
        function: Function,
    }
}

impl Infer for Unary {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
