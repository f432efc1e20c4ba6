use super::{Affine, Arithmetic, Form, FormError, Narrowing, Scalars, at};
use crate::IntType;
use serde::{Deserialize, Serialize};

/// `sat(round(x / 2^s))`: the factor and the zero point are folded into weights and bias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArithFolded {
    /// Shift, rounding, output type.
    pub narrowing: Narrowing,
}

impl Form for ArithFolded {
    fn out(&self) -> IntType {
        self.narrowing.out
    }

    fn narrowing(&self) -> Option<&Narrowing> {
        Some(&self.narrowing)
    }

    fn lengths(&self) -> Vec<(&'static str, Option<usize>)> {
        vec![("shift", self.narrowing.shift.channels())]
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
