//! Quantized functions that are not requantizations of a single integer: they have an `f32` operand, an `f32` result,
//! or two integer operands. Each is a small struct that works like a [form](crate::form): `check` decides whether its
//! parameters are legal, and `eval` returns a typed error outside of its domain.

mod ascend_dequant;
mod ascend_quant;
mod qlinear_add;
mod quantize_linear;

pub use ascend_dequant::AscendDequant;
pub use ascend_quant::AscendQuant;
pub use qlinear_add::QLinearAdd;
pub use quantize_linear::QuantizeLinear;

use crate::FormError;
use crate::form::{check_scale, in_range};

/// The error for an argument for which a function of this module is not defined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undefined {
    /// The argument is NaN, which has no code.
    #[error("NaN has no code")]
    NotANumber,
    /// The accumulator has more than 32 bits.
    #[error("accumulator {0} is outside of 32 bits")]
    Accumulator(i64),
    /// The channel does not exist, so there is no scale for it.
    #[error("there is no channel {0}")]
    Channel(usize),
}

/// Checks that an addend is finite.
fn check_offset(offset: f32) -> Result<(), FormError> {
    if offset.is_finite() {
        Ok(())
    } else {
        Err(FormError::Offset { offset })
    }
}

/// Checks that a zero point is in the range of a type.
fn check_zero_point(zero_point: i32, out: crate::IntType) -> Result<(), FormError> {
    in_range("zero_point", 0, zero_point.into(), out.min().into()..=out.max().into())
}
