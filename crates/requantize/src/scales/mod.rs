//! The integers of a form from scales, bit for bit, by the rule of the runtime that reads the scales.
//!
//! Scales are those of `real = scale * (q - zero_point)`. The factor of a convolution's requantization is
//! `input * weight / output`; the rules differ in the types and the order of that product, in how many bits of it they
//! keep, and in how the rest is rounded.

pub mod ascend;
pub mod fixed_point;
pub mod litert;
mod of_range;
pub mod onnx_runtime;
pub mod packed_float;
pub mod power_of_two;
pub mod tosa;

pub use of_range::{next_power_of_two, of_range, zero_of};

use crate::{FormError, Per};

/// Reason why scales give no form: the fault of the model, or of the ranges that the scales were computed from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScaleError {
    /// A scale, or the factor that scales make, is zero, negative, infinite or NaN.
    #[error("{what} {value} is not finite and positive")]
    NotPositive {
        /// Which of them.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The factor is above what the form's shifts can express.
    #[error("the factor {factor} is above what {rule} can express")]
    TooLarge {
        /// The factor.
        factor: f64,
        /// The rule in question.
        rule: &'static str,
    },
    /// The rule keeps a number of bits that it cannot keep.
    #[error("a multiplier of {bits} bits: the form's have 1 to {most}")]
    Bits {
        /// The number of bits.
        bits: u8,
        /// The largest number that the form has room for.
        most: u8,
    },
    /// The integers that came out are not legal.
    #[error(transparent)]
    Form(#[from] FormError),
}

/// The value if it can be a scale.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, ScaleError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(ScaleError::NotPositive { what, value })
    }
}

/// Pairs, one for the tensor or one per channel, as a pair of these.
fn unzip<A: Copy, B: Copy>(pairs: &Per<(A, B)>) -> (Per<A>, Per<B>) {
    (pairs.map(|pair| pair.0), pairs.map(|pair| pair.1))
}
