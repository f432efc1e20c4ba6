use super::{Undefined, check_scale, check_zero_point};
use crate::{
    FormError, IntType, Rounding,
    quantize::{Quantization, Scaling, ZeroPoint},
};
use serde::{Deserialize, Serialize};

/// `sat(half_even(x / scale) + zero_point)` with a true division in `f32`, which is QuantizeLinear of ONNX.
///
/// Domain: every `f32` except NaN. Infinities saturate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantizeLinear {
    /// The divisor, finite and positive.
    pub scale: f32,
    /// The code of real zero. It must be in the range of the type.
    pub zero_point: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl QuantizeLinear {
    /// Checks that the parameters are legal.
    pub fn check(&self) -> Result<(), FormError> {
        check_scale(0, self.scale)?;
        check_zero_point(self.zero_point, self.out)
    }

    /// The code of a real number.
    pub fn eval(&self, x: f32) -> Result<i32, Undefined> {
        if x.is_nan() {
            return Err(Undefined::NotANumber);
        }
        Ok(self.quantization().eval(x))
    }

    /// This function in the general form, as a [`Quantization`]. In this form, NaN becomes the zero point.
    pub fn quantization(&self) -> Quantization {
        let zero_point = (self.zero_point, ZeroPoint::After);
        Quantization::new(Scaling::DividedBy(self.scale), zero_point, Rounding::HalfEven, self.out)
    }
}
