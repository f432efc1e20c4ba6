use super::{Arithmetic, Fields, FloatAffine, Form, FormError, Requantization, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(half_even(f32(f32(x) * scale) + f32(zp)))`, conversion, product and sum rounded to `f32`: the zero point inside
/// of the rounding. An odd one moves ties to other neighbours than [`Float`](super::Float) does.
///
/// This is ONNX Runtime's QLinearMul on the product of the operands' integers, less their zero points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloatZeroInside {
    /// Factor, finite and positive.
    pub scale: Per<f32>,
    /// Zero point of the output.
    pub zp: i32,
    /// Integer type that the result saturates to.
    pub out: IntType,
}

impl Form for FloatZeroInside {
    fn fields(&self) -> Fields<'_> {
        Fields::new(self.out).per("scale", &self.scale)
    }

    fn select(&self, channels: &[usize]) -> Option<Requantization> {
        let form = FloatZeroInside {
            scale: self.scale.select(channels)?,
            ..self.clone()
        };
        Some(form.into())
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        Ok(Arithmetic::FloatAffine(FloatAffine {
            factor: at("scale", &self.scale, channel)?,
            // A product with one is exact.
            scale: 1.0,
            offset: self.zp as f32,
        })
        .into())
    }
}
