use super::{Undefined, check_scale};
use crate::{FormError, Per, quantize::Dequantization};
use serde::{Deserialize, Serialize};

/// `f32(x) * scale`, as AscendDequant computes it. With `relu`, negative results become zero. The conversion and the
/// product are rounded to `f32`.
///
/// Domain: `i32`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AscendDequant {
    /// The factor, finite and positive. If the chip packs it, it has 19 bits.
    pub scale: Per<f32>,
    /// True if negative results become zero.
    pub relu: bool,
}

impl AscendDequant {
    /// Checks that the parameters are legal.
    pub fn check(&self) -> Result<(), FormError> {
        let mut scales = self.scale.values().iter().enumerate();
        scales.try_for_each(|(channel, scale)| check_scale(channel, *scale))
    }

    /// The real number of an accumulator.
    pub fn eval(&self, channel: usize, acc: i64) -> Result<f32, Undefined> {
        let scale = self.scale.get(channel).ok_or(Undefined::Channel(channel))?;
        let acc = i32::try_from(acc).map_err(|_| Undefined::Accumulator(acc))?;
        Ok(self.with(*scale).eval(acc))
    }

    /// This function in the general form, as a [`Dequantization`].
    pub fn dequantization(&self) -> Per<Dequantization> {
        self.scale.map(|scale| self.with(*scale))
    }

    fn with(&self, scale: f32) -> Dequantization {
        Dequantization {
            scale,
            zero_point: 0,
            relu: self.relu,
        }
    }
}
