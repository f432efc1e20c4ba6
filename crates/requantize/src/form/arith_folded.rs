use super::{Affine, Arithmetic, Fields, Form, FormError, Narrowing, Requantization, Scalars, at};
use serde::{Deserialize, Serialize};

/// `sat(round(x / 2^s))`. The factor and the zero point are already folded into weights and bias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArithFolded {
    /// The shift, the rounding and the output type.
    pub narrowing: Narrowing,
}

impl Form for ArithFolded {
    fn fields(&self) -> Fields<'_> {
        Fields::new(self.narrowing.out).narrowed(&self.narrowing)
    }

    fn select(&self, channels: &[usize]) -> Option<Requantization> {
        let form = ArithFolded {
            narrowing: self.narrowing.select(channels)?,
        };
        Some(form.into())
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        Ok(Arithmetic::Affine(Affine {
            factor: 1,
            addend: 0,
            shift: at("shift", &self.narrowing.shift, channel)?,
            rounding: self.narrowing.rounding,
            zero_point: 0,
        })
        .into())
    }
}
