use super::{Arithmetic, Fields, FloatProduct, Form, FormError, Scalars, at, check::in_range, lowest_with_relu};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(max(half_even(f32(x) * scale), 0) + offset)`, or the same without the `max` if `relu` is not set. The ReLU
/// comes before the offset is added, so it cuts off at real zero. The conversion and the product are rounded to `f32`.
///
/// This is Ascend's AscendRequant. Its `scale` is the product of the dequantization's scale and the quantization's. The
/// chip's cube unit keeps 19 bits of this factor ([`packed_float`](crate::scales::packed_float)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AscendRequant {
    /// The factor, finite and positive.
    pub scale: Per<f32>,
    /// The number that is added after the rounding. It is in -256 ..= 255, because the chip's parameter word has nine
    /// bits for it.
    pub offset: i32,
    /// True if negative results become real zero.
    pub relu: bool,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Form for AscendRequant {
    fn out(&self) -> IntType {
        self.out
    }

    fn lowest(&self) -> i32 {
        // max(r, 0) + offset = max(r + offset, offset)
        lowest_with_relu(self.out(), self.relu.then_some(self.offset))
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default().scaled("scale", &self.scale).zero(self.offset)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.scale.select(channels)
    }

    fn rules(&self) -> Result<(), FormError> {
        in_range("offset", 0, self.offset.into(), -256..=255)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        Ok(Arithmetic::Float(FloatProduct {
            scale: at("scale", &self.scale, channel)?,
            zero_point: self.offset,
        })
        .into())
    }
}
