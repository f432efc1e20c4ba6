use super::{Affine, Arithmetic, Fields, Form, FormError, Narrowing, Requantization, Scalars, at};
use crate::Per;
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
    fn fields(&self) -> Fields<'_> {
        Fields::new(self.narrowing.out)
            .multiplied("sc", &self.sc)
            .per("add", &self.add)
            .narrowed(&self.narrowing)
    }

    fn select(&self, channels: &[usize]) -> Option<Requantization> {
        let form = Fixed {
            sc: self.sc.select(channels)?,
            add: self.add.select(channels)?,
            narrowing: self.narrowing.select(channels)?,
            ..self.clone()
        };
        Some(form.into())
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        Ok(Arithmetic::Affine(Affine {
            factor: at("sc", &self.sc, channel)?,
            addend: at("add", &self.add, channel)?,
            shift: at("shift", &self.narrowing.shift, channel)?,
            rounding: self.narrowing.rounding,
            zero_point: self.zp,
        })
        .into())
    }
}
