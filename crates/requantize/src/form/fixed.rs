use super::{Fields, Form, FormError, Narrowing, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(round((x * sc + add) / 2^s) + zp)`: the most general fixed-point form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// The factor, not negative.
    pub sc: Per<i32>,
    /// The number that is added before the shift. Its magnitude is at most [`MAX_ADDEND`](super::MAX_ADDEND).
    pub add: Per<i64>,
    /// The zero point of the output.
    pub zp: i32,
    /// The shift, the rounding and the output type.
    pub narrowing: Narrowing,
}

impl Form for Fixed {
    fn out(&self) -> IntType {
        self.narrowing.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default()
            .multiplied("sc", &self.sc)
            .per("add", &self.add)
            .narrowed(&self.narrowing)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.sc.select(channels)?;
        self.add.select(channels)?;
        self.narrowing.shift.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        self.narrowing.scalars(
            channel,
            at("sc", &self.sc, channel)?,
            at("add", &self.add, channel)?,
            self.zp,
        )
    }
}
