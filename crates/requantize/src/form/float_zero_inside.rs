use super::{Arithmetic, Fields, FloatAffine, Form, FormError, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(half_even(f32(f32(x) * scale) + f32(zp)))`, where the zero point is added inside the rounding. Conversion,
/// product and sum are rounded to `f32`. If the zero point is odd, a tie is rounded to the other neighbour than in
/// [`Float`](super::Float).
///
/// This is QLinearMul of ONNX Runtime, applied to the product of the operands' integers after their zero points were
/// subtracted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloatZeroInside {
    /// The factor, finite and positive.
    pub scale: Per<f32>,
    /// The zero point of the output.
    pub zp: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Form for FloatZeroInside {
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
        Ok(Arithmetic::FloatAffine(FloatAffine {
            factor: at("scale", &self.scale, channel)?,
            // Multiplying by one is exact.
            scale: 1.0,
            offset: self.zp as f32,
        })
        .into())
    }
}
