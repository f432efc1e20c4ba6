use super::{Arithmetic, Fields, FloatProduct, Form, FormError, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(half_even(f32(x) * scale) + zp)`. The conversion and the product are rounded to `f32`.
///
/// This is QLinearConv of ONNX Runtime, and also AscendRequant without a ReLU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Float {
    /// The factor, finite and positive.
    pub scale: Per<f32>,
    /// The zero point of the output.
    pub zp: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Form for Float {
    fn out(&self) -> IntType {
        self.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default().scaled("scale", &self.scale).zero(self.zp)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.scale.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        Ok(Arithmetic::Float(FloatProduct {
            scale: at("scale", &self.scale, channel)?,
            zero_point: self.zp,
        })
        .into())
    }
}
