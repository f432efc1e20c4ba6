use super::{Fields, Form, FormError, Narrowing, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(round((x * sc + zp) / 2^s))`. The zero point is added before the shift, so it has fractional bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FractionalZero {
    /// The factor, not negative.
    pub sc: Per<i32>,
    /// The zero point times `2^s`. Its magnitude is at most [`MAX_ADDEND`](super::MAX_ADDEND).
    pub zp: Per<i64>,
    /// The shift, the rounding and the output type.
    pub narrowing: Narrowing,
}

impl Form for FractionalZero {
    fn out(&self) -> IntType {
        self.narrowing.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default()
            .multiplied("sc", &self.sc)
            .per("zp", &self.zp)
            .narrowed(&self.narrowing)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.sc.select(channels)?;
        self.zp.select(channels)?;
        self.narrowing.shift.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        self.narrowing
            .scalars(channel, at("sc", &self.sc, channel)?, at("zp", &self.zp, channel)?, 0)
    }
}
