use super::{check_offset, check_scale};
use crate::{FormError, IntType};
use serde::{Deserialize, Serialize};

/// `sat(half_even(fma(a, x, fma(b, y, offset))))` for two codes, which is QLinearAdd of ONNX Runtime. The offset
/// includes the zero points of both operands and of the result
/// ([`onnx_runtime::addition`](crate::scales::onnx_runtime::addition)). Each `fma` is rounded to `f32` once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QLinearAdd {
    /// The factor of the first operand, finite and positive.
    pub a: f32,
    /// The factor of the second operand, finite and positive.
    pub b: f32,
    /// The addend that includes the zero points, finite.
    pub offset: f32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl QLinearAdd {
    /// Checks that the parameters are legal.
    pub fn check(&self) -> Result<(), FormError> {
        check_scale(0, self.a)?;
        check_scale(1, self.b)?;
        check_offset(self.offset)
    }

    /// The code of the sum. It is defined for all integers, although the operands of the op are eight-bit codes.
    pub fn eval(&self, x: i32, y: i32) -> i32 {
        let sum = self.a.mul_add(x as f32, self.b.mul_add(y as f32, self.offset));
        self.out.saturate(sum.round_ties_even() as i64)
    }
}
