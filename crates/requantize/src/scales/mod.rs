//! Derives the parameters of a form, such as multipliers and shifts, from scales by the rule of the runtime that reads
//! the scales. The parameters are the same as the runtime's, bit for bit.
//!
//! Scales are used as in `real = scale * (q - zero_point)`. The factor of a convolution's requantization is `input *
//! weight / output`. The rules differ in the types and the order of this computation, in how many bits of the factor
//! they keep, and in how they round.

pub mod ascend;
pub mod fixed_point;
pub mod litert;
mod of_range;
pub mod onnx_runtime;
pub mod packed_float;
pub mod power_of_two;
pub mod tosa;

pub use of_range::{next_power_of_two, of_range, zero_of};

use crate::{FormError, Per, Requantization};

/// Why there is no form for given scales. The scales come from the model, or from the ranges of its tensors.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScaleError {
    /// A scale, or a factor that is derived from scales, is zero, negative, infinite or NaN.
    #[error("{what} {value} is not finite and positive")]
    NotPositive {
        /// The name of the scale or factor.
        what: &'static str,
        /// The value of the scale or factor.
        value: f64,
    },
    /// The factor is larger than the form's shifts can express.
    #[error("the factor {factor} is above what {rule} can express")]
    TooLarge {
        /// The factor.
        factor: f64,
        /// The rule that derives the integers.
        rule: &'static str,
    },
    /// The multiplier of the rule has more bits than the form supports.
    #[error("a multiplier of {bits} bits: the form's have 1 to {most}")]
    Bits {
        /// The number of bits.
        bits: u8,
        /// The largest number of bits that the form supports.
        most: u8,
    },
    /// The derived integers are not legal.
    #[error(transparent)]
    Form(#[from] FormError),
}

/// Returns the value if it is positive and finite, so that it can be a scale.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, ScaleError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(ScaleError::NotPositive { what, value })
    }
}

/// Checks that two scales and the scale of a result are positive and finite.
fn positive_all(a: f32, b: f32, output: f32) -> Result<(), ScaleError> {
    positive("first scale", a.into())?;
    positive("second scale", b.into())?;
    positive("output scale", output.into()).map(drop)
}

/// Returns the form if its parameters are legal.
fn checked(form: impl Into<Requantization>) -> Result<Requantization, ScaleError> {
    let form = form.into();
    form.check()?;
    Ok(form)
}

/// Splits pairs into their first and their second parts. There is one pair for the tensor, or one for each channel.
fn unzip<A: Copy, B: Copy>(pairs: &Per<(A, B)>) -> (Per<A>, Per<B>) {
    (pairs.map(|pair| pair.0), pairs.map(|pair| pair.1))
}
