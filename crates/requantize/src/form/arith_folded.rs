use super::{Fields, Form, FormError, Narrowing, Scalars};
use crate::IntType;
use serde::{Deserialize, Serialize};

/// `sat(round(x / 2^s))`. The factor and the zero point are already folded into weights and bias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArithFolded {
    /// The shift, the rounding and the output type.
    pub narrowing: Narrowing,
}

impl Form for ArithFolded {
    fn out(&self) -> IntType {
        self.narrowing.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default().narrowed(&self.narrowing)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.narrowing.shift.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        self.narrowing.scalars(channel, 1, 0, 0)
    }
}
