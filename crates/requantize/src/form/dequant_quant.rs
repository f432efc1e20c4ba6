use super::{Arithmetic, Fields, FloatAffine, Form, FormError, Requantization, Scalars, at, check::in_range};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(half_even(f32(f32(max(f32(x) * deq, 0) * scale) + f32(offset))))`, without the `max` where `relu` is not set;
/// every operation rounded to `f32`.
///
/// Ascend's AscendDequant, a ReLU in float and AscendQuant, one after the other: what stands in the graph before ATC
/// makes one [`AscendRequant`](super::AscendRequant) of them. It rounds three times where that rounds once, and has its
/// offset inside of the last rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DequantQuant {
    /// The dequantization's factor, finite and positive.
    pub deq: Per<f32>,
    /// True if negative reals become zero.
    pub relu: bool,
    /// The quantization's factor, the reciprocal of the output's scale; finite and positive.
    pub scale: f32,
    /// Added inside of the rounding; an integer that `f32` holds, at most 2^24 in size.
    pub offset: i32,
    /// Integer type that the result saturates to.
    pub out: IntType,
}

impl Form for DequantQuant {
    fn fields(&self) -> Fields<'_> {
        // Non-decreasing behind the max, hence max(f(x), f(0)); f(0) = rint(0 * scale + offset) = offset.
        Fields::new(self.out).per("deq", &self.deq).relu(self.relu, self.offset)
    }

    fn select(&self, channels: &[usize]) -> Option<Requantization> {
        let form = DequantQuant {
            deq: self.deq.select(channels)?,
            ..self.clone()
        };
        Some(form.into())
    }

    fn rules(&self) -> Result<(), FormError> {
        in_range("offset", 0, self.offset.into(), -(1 << 24)..=1 << 24)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        Ok(Arithmetic::FloatAffine(FloatAffine {
            factor: at("deq", &self.deq, channel)?,
            scale: self.scale,
            offset: self.offset as f32,
        })
        .into())
    }
}
