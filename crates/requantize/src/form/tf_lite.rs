use super::{Fields, Form, FormError, Narrowing, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(round(x * sc / 2^s) + zp)`. The product is rounded once, then the zero point is added.
///
/// SiMa calls this its TFLite mode. The forms of LiteRT itself have the same formula but other domains:
/// [`Gemmlowp`](super::Gemmlowp) with one rounding, and [`SixteenByEight`](super::SixteenByEight).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TfLite {
    /// The factor, not negative.
    pub sc: Per<i32>,
    /// The zero point of the output.
    pub zp: i32,
    /// The shift, the rounding and the output type.
    pub narrowing: Narrowing,
}

impl Form for TfLite {
    fn out(&self) -> IntType {
        self.narrowing.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default()
            .multiplied("sc", &self.sc)
            .narrowed(&self.narrowing)
            .zero(self.zp)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.sc.select(channels)?;
        self.narrowing.shift.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        self.narrowing
            .scalars(channel, at("sc", &self.sc, channel)?, 0, self.zp)
    }
}
