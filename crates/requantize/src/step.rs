use crate::{FormError, IntType, OutsideDomain, Requantization};
use serde::{Deserialize, Serialize};

/// A requantization followed by a clamp: `clamp(requantize(x), low, high)`. Several steps in a row form a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The requantization.
    pub form: Requantization,
    /// The clamp, both ends included. It stands for a ReLU, ReLU6 or Clip, in integers of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp: Option<[i32; 2]>,
}

impl Step {
    /// Checks that the form is legal, and that the ends of the clamp are in order.
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

    /// The result for one accumulator of one channel. See [`Requantization::eval`].
    pub fn eval(&self, channel: usize, acc: i64) -> Result<i32, OutsideDomain> {
        Ok(clamp(self.form.eval(channel, acc)?, self.clamp))
    }

    /// The type of the result.
    pub fn out(&self) -> IntType {
        self.form.out()
    }
}

/// Clamps `x` to the ends. If the lower end is above the upper end, the result is the lower end, whereas [`i32::clamp`]
/// would panic.
pub(crate) fn clamp(x: i32, ends: Option<[i32; 2]>) -> i32 {
    ends.map_or(x, |[low, high]| x.min(high).max(low))
}

/// Combines a clamp (the inner one) and a clamp that follows it (the outer one) into one: the outer clamp is applied to
/// the limits of the inner clamp. If their ranges do not overlap, both limits become the limit of the outer clamp that
/// is nearest to the inner range.
pub fn clamp_twice(inner: Option<[i32; 2]>, outer: Option<[i32; 2]>) -> Option<[i32; 2]> {
    inner.map(|ends| ends.map(|end| clamp(end, outer))).or(outer)
}

impl From<Requantization> for Step {
    fn from(form: Requantization) -> Self {
        Step { form, clamp: None }
    }
}
