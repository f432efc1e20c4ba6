//! Functions of one variable.

use super::prelude::*;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// All functions, one in each row. A row has, in this order: the name of the function; the function of real numbers for
/// making tables (`None` if no proved enclosures exist); the function on f64; and the function on f32. The last entry
/// can be left out; then the f64 function is computed and rounded. The crate `execute` has kernels for the frequent
/// functions.
macro_rules! functions {
    ($then:ident! { $($given:tt)* }) => {
        $then! {
            $($given)*
            /// 1 / (1 + exp(−x)).
            Sigmoid = "sigmoid": Some(Real::Sigmoid), sigmoid;
            /// Hyperbolic tangent.
            Tanh = "tanh": Some(Real::Tanh), libm::tanh;
            /// x · sigmoid(x), also called swish.
            Silu = "silu": Some(Real::Silu), |x| x * sigmoid(x);
            /// x · Φ(x), where Φ is computed with the error function.
            Gelu = "gelu": Some(Real::Gelu), |x| 0.5 * x * (1.0 + libm::erf(x * FRAC_1_SQRT_2));
            /// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))).
            GeluTanh = "gelu_tanh": Some(Real::GeluTanh), gelu_tanh;
            /// x · max(0, min(1, x/6 + 1/2)).
            HardSwish = "hard_swish": Some(Real::HardSwish), |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0), |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0);
            /// x · tanh(softplus(x)).
            Mish = "mish": Some(Real::Mish), |x| x * libm::tanh(softplus(x));
            /// ln(1 + exp(x)).
            Softplus = "softplus": Some(Real::Softplus), softplus;
            /// Exponential function.
            Exp = "exp": Some(Real::Exp), libm::exp;
            /// Natural logarithm.
            Log = "log": Some(Real::Log), libm::log;
            /// Square root.
            Sqrt = "sqrt": Some(Real::Sqrt), f64::sqrt;
            /// 1 / x.
            Reciprocal = "reciprocal": Some(Real::Reciprocal), |x| 1.0 / x, |x| 1.0 / x;
            /// Error function.
            Erf = "erf": Some(Real::Erf), libm::erf;
            /// −x.
            Neg = "neg": Some(Real::Neg), |x| -x, |x| -x;
            /// |x|.
            Abs = "abs": Some(Real::Abs), f64::abs, f32::abs;
            /// The largest integer that is not above x.
            Floor = "floor": Some(Real::Floor), f64::floor, f32::floor;
            /// The smallest integer that is not below x.
            Ceil = "ceil": Some(Real::Ceil), f64::ceil, f32::ceil;
            /// The nearest integer; halves are rounded to even.
            Round = "round": Some(Real::Round), f64::round_ties_even, f32::round_ties_even;
            /// The sign: −1, 0 or 1.
            Sign = "sign": None, |x| if x == 0.0 || x.is_nan() { x } else { x.signum() }, |x| if x == 0.0 || x.is_nan() { x } else { x.signum() };
            /// Sine, in radians.
            Sin = "sin": None, libm::sin, libm::sinf;
            /// Cosine, in radians.
            Cos = "cos": None, libm::cos, libm::cosf;
            /// Tangent, in radians.
            Tan = "tan": None, libm::tan, libm::tanf;
            /// Inverse sine, in radians.
            Asin = "asin": None, libm::asin, libm::asinf;
            /// Inverse cosine, in radians.
            Acos = "acos": None, libm::acos, libm::acosf;
            /// Inverse tangent, in radians.
            Atan = "atan": None, libm::atan, libm::atanf;
            /// Hyperbolic sine.
            Sinh = "sinh": None, libm::sinh, libm::sinhf;
            /// Hyperbolic cosine.
            Cosh = "cosh": None, libm::cosh, libm::coshf;
            /// Inverse hyperbolic sine.
            Asinh = "asinh": None, libm::asinh, libm::asinhf;
            /// Inverse hyperbolic cosine.
            Acosh = "acosh": None, libm::acosh, libm::acoshf;
            /// Inverse hyperbolic tangent.
            Atanh = "atanh": None, libm::atanh, libm::atanhf;
        }
    };
}
pub(super) use functions;

macro_rules! declare {
    ($($(#[$doc:meta])* $function:ident = $word:literal: $real:expr, $wide:expr $(, $narrow:expr)?;)*) => {
        words! {
            /// The functions that [`Unary`] computes. For int8 codes, each of them can be computed with a table of 256
            /// entries.
            Function { $($(#[$doc])* $function = $word),* }
        }

        impl Function {
            /// Returns the function of real numbers from which tables are made; `None` if tables cannot be made.
            pub const fn real(self) -> Option<Real> {
                match self { $(Function::$function => $real),* }
            }

            /// Returns the function on f64. It uses only operations that give the same result on every machine.
            pub fn wide(self) -> fn(f64) -> f64 {
                match self { $(Function::$function => $wide),* }
            }

            /// Returns the function on f32. Returns `None` if the f64 function has to be computed and rounded instead.
            pub fn narrow(self) -> Option<fn(f32) -> f32> {
                match self { $(Function::$function => narrow!($($narrow)?)),* }
            }
        }
    };
}

macro_rules! narrow {
    () => {
        None
    };
    ($function:expr) => {
        Some($function)
    };
}

functions! { declare! {} }

impl Function {
    /// Returns the kind of computation. If there is no real function for tables ([`Function::real`]), the function
    /// cannot be applied to codes.
    pub const fn kind(self) -> Kind {
        match self.real() {
            Some(_) => Kind::Function,
            None => Kind::Real,
        }
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

fn gelu_tanh(x: f64) -> f64 {
    let inner = (2.0 / PI).sqrt() * (x + 0.044_715 * x * x * x);
    0.5 * x * (1.0 + libm::tanh(inner))
}

op! {
    /// A function of one variable, applied to each element. The operand is a float. For neg, abs and sign, the operand
    /// can also be i64.
    Unary = "unary" v 1: 1 {
        /// Which function to compute.
        function: Function,
    }
}

impl From<Function> for super::Op {
    fn from(function: Function) -> super::Op {
        Unary { function }.into()
    }
}

impl OpFacts for Unary {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }

    fn real(&self) -> Option<Real> {
        self.function.real()
    }
}
