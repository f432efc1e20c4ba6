use super::{Arithmetic, Fields, FloatProduct, Form, FormError, Scalars, at, check::in_range};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat8(half_even(f32(x) * scale) + offset)` for 16-bit integers. The product is rounded to `f32`.
///
/// This form is the second half of Ascend's S16 pair. `scale` is the product of the dequantization's scale, the
/// quantization's scale, and the `2^N` by which [`AscendDequantS16`](super::AscendDequantS16) divided. Domain: `i16`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AscendRequantS16 {
    /// The factor, finite and positive.
    pub scale: Per<f32>,
    /// The number that is added after the rounding, -128 ..= 127.
    pub offset: i32,
}

impl Form for AscendRequantS16 {
    fn out(&self) -> IntType {
        IntType::I8
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default().scaled("scale", &self.scale).zero(self.offset)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.scale.select(channels)
    }

    fn rules(&self) -> Result<(), FormError> {
        in_range("offset", 0, self.offset.into(), -128..=127)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let arithmetic = Arithmetic::Float(FloatProduct {
            scale: at("scale", &self.scale, channel)?,
            zero_point: self.offset,
        });
        Ok(Scalars::from(arithmetic).inputs((i16::MIN.into(), i16::MAX.into())))
    }
}
