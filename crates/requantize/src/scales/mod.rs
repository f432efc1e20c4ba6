//! Derives the integers of a form from scales, bit for bit, by the rule of the runtime that reads the scales.
//!
//! Scales are meant as in `real = scale * (q - zero_point)`. The factor of a convolution's requantization is
//! `input * weight / output`. The rules differ in the types and the order of this computation, in how many bits of the
//! factor they keep, and in how they round.

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

/// The reason why scales give no form. The model is at fault, or the ranges from which the scales were computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScaleError {
    /// A scale, or the factor that follows from scales, is zero, negative, infinite or NaN.
    #[error("{what} {value} is not finite and positive")]
    NotPositive {
        /// Which scale or factor.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// The factor is larger than the form's shifts can express.
    #[error("the factor {factor} is above what {rule} can express")]
    TooLarge {
        /// The factor.
        factor: f64,
        /// The rule that was used.
        rule: &'static str,
    },
    /// The rule asks for more bits than the form has.
    #[error("a multiplier of {bits} bits: the form's have 1 to {most}")]
    Bits {
        /// The number of bits.
        bits: u8,
        /// The largest number of bits that the form has room for.
        most: u8,
    },
    /// The integers that came out are not legal.
    #[error(transparent)]
    Form(#[from] FormError),
}

/// Returns the value if it is positive and finite, and so can be a scale.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, ScaleError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(ScaleError::NotPositive { what, value })
    }
}

/// Splits pairs, one for the tensor or one per channel, into their first and their second parts.
fn unzip<A: Copy, B: Copy>(pairs: &Per<(A, B)>) -> (Per<A>, Per<B>) {
    (pairs.map(|pair| pair.0), pairs.map(|pair| pair.1))
}
