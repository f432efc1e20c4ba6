use super::{Arithmetic, Fields, FloatAffine, Form, FormError, Scalars, at, check::in_range, lowest_with_relu};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(half_even(f32(f32(max(f32(x) * deq, 0) * scale) + f32(offset))))`, or the same without the `max` if `relu` is
/// not set. Every operation is rounded to `f32`.
///
/// This is Ascend's AscendDequant, followed by a ReLU in float and AscendQuant, as a graph contains them before ATC
/// merges them into one [`AscendRequant`](super::AscendRequant). The separate ops round three times in total, and
/// AscendRequant rounds once. The offset is added inside the last rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DequantQuant {
    /// The factor of the dequantization, finite and positive.
    pub deq: Per<f32>,
    /// True if negative real numbers become zero.
    pub relu: bool,
    /// The factor of the quantization, which is the reciprocal of the output's scale. Finite and positive.
    pub scale: f32,
    /// The number that is added inside the rounding. It is an integer that `f32` can hold, with a magnitude of at most
    /// 2^24.
    pub offset: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Form for DequantQuant {
    fn out(&self) -> IntType {
        self.out
    }

    fn lowest(&self) -> i32 {
        // Let f be the operations that follow the max. A larger operand never gives a smaller f, so f(max(x, 0)) =
        // max(f(x), f(0)), with f(0) = rint(0 * scale + offset) = offset.
        lowest_with_relu(self.out(), self.relu.then_some(self.offset))
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default().scaled("deq", &self.deq).zero(self.offset)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.deq.select(channels)
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
