use crate::{FormError, IntType, OutsideDomain, Requantization};
use serde::{Deserialize, Serialize};

/// A requantization and the clamp behind it: `clamp(requantize(x), low, high)`, one stage of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The requantization.
    pub form: Requantization,
    /// Both ends belong to it: ReLU, ReLU6 and Clip in the output's integers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp: Option<[i32; 2]>,
}

impl Step {
    /// Checks that the form is legal and the clamp's ends are in order.
    pub fn check(&self) -> Result<(), FormError> {
        self.form.check()?;
        self.check_clamp()
    }

    pub(crate) fn check_clamp(&self) -> Result<(), FormError> {
        match self.clamp {
            Some([low, high]) if low > high => Err(FormError::Clamp { low, high }),
            _ => Ok(()),
        }
    }

    /// The result for one accumulator of one channel; see [`Requantization::eval`].
    pub fn eval(&self, channel: usize, acc: i64) -> Result<i32, OutsideDomain> {
        Ok(clamp(self.form.eval(channel, acc)?, self.clamp))
    }

    /// The type that the clamp's result lies in.
    pub fn out(&self) -> IntType {
        self.form.out()
    }
}

/// `x` brought between the ends. The lower one wins if they are not in order, where [`i32::clamp`] would panic.
pub(crate) fn clamp(x: i32, ends: Option<[i32; 2]>) -> i32 {
    ends.map_or(x, |[low, high]| x.min(high).max(low))
}

/// Two clamps in a row as one: what the inner one leaves lies between its ends, and the outer one moves these. Where
/// they exclude each other, all that is left is the outer one's nearest end.
pub fn clamp_twice(inner: Option<[i32; 2]>, outer: Option<[i32; 2]>) -> Option<[i32; 2]> {
    inner.map(|ends| ends.map(|end| clamp(end, outer))).or(outer)
}

impl From<Requantization> for Step {
    fn from(form: Requantization) -> Self {
        Step { form, clamp: None }
    }
}
