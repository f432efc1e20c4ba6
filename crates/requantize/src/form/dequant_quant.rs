use super::{Arithmetic, Fields, FloatAffine, Form, FormError, Requantization, Scalars, at, check::in_range};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(half_even(f32(f32(max(f32(x) * deq, 0) * scale) + f32(offset))))`, or without the `max` if `relu` is not set.
/// Every operation is rounded to `f32`.
///
/// These are Ascend's AscendDequant, a ReLU in float and AscendQuant in a row, as they stand in the graph before ATC
/// merges them into one [`AscendRequant`](super::AscendRequant). They round three times where AscendRequant rounds
/// once, and the offset is inside the last rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DequantQuant {
    /// The factor of the dequantization, finite and positive.
    pub deq: Per<f32>,
    /// True if negative reals become zero.
    pub relu: bool,
    /// The factor of the quantization, which is the reciprocal of the output's scale. Finite and positive.
    pub scale: f32,
    /// Added inside the rounding. An integer that `f32` holds, with a magnitude of at most 2^24.
    pub offset: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Form for DequantQuant {
    fn fields(&self) -> Fields<'_> {
        // The function after the max does not decrease, so the max can be moved behind it: max(f(x), f(0)), with f(0) =
        // rint(0 * scale + offset) = offset.
        Fields::new(self.out)
            .scaled("deq", &self.deq)
            .zero(self.offset)
            .relu(self.relu, self.offset)
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
