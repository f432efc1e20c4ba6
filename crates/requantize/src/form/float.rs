use super::{Arithmetic, Fields, FloatProduct, Form, FormError, Requantization, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(half_even(f32(x) * scale) + zp)`, the conversion and the product rounded to `f32`.
///
/// This is ONNX Runtime's QLinearConv, and AscendRequant without ReLU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Float {
    /// Factor, finite and positive.
    pub scale: Per<f32>,
    /// Zero point of the output.
    pub zp: i32,
    /// Integer type that the result saturates to.
    pub out: IntType,
}

impl Form for Float {
    fn fields(&self) -> Fields<'_> {
        Fields::new(self.out).per("scale", &self.scale)
    }

    fn select(&self, channels: &[usize]) -> Option<Requantization> {
        let form = Float {
            scale: self.scale.select(channels)?,
            ..self.clone()
        };
        Some(form.into())
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        Ok(Arithmetic::Float(FloatProduct {
            scale: at("scale", &self.scale, channel)?,
            zero_point: self.zp,
        })
        .into())
    }
}
