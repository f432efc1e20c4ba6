//! Finds how much accuracy a runtime loses because it derives its integers from the scales in the file by a fixed rule.

use super::{
    best::{Best, BestError, Limits, Target},
    ideal::Ideal,
    thresholds::{Chain, DecideError},
};
use crate::Step;
use crate::decide::difference::Deviation;

/// What could be gained if the integers of a form could be chosen freely instead of being derived from scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// How far the form with the runtime's own integers is from the ideal function.
    pub runtime: Deviation,
    /// The best integers. `None` if the runtime's own integers already give the ideal function, or if the form has no
    /// integers that could be chosen.
    pub best: Option<Best>,
}

impl Gain {
    /// True if the form comes nearer to the ideal function with the best integers than with the runtime's own.
    pub fn is_any(&self) -> bool {
        let best = self.best.as_ref().and_then(|best| best.deviation);
        best.is_some_and(|best| (best.max_lsb, best.differing) < (self.runtime.max_lsb, self.runtime.differing))
    }
}

/// Compares the ideal function with the form for two choices of integers: those that the runtime derives, and the best
/// ones within the limits. The comparison only reports how much accuracy the best integers would gain. The runtime's
/// integers cannot be replaced, because the model file stores scales, from which the runtime derives them. A form
/// without limits, such as one with an `f32` scale, has no integers to choose.
///
/// # Errors
/// The interval is empty or leaves the domain of the runtime's form, or the comparison takes too many steps.
pub fn gain(
    runtime: &Step,
    channel: usize,
    ideal: &Ideal,
    limits: Option<&Limits>,
    interval: (i64, i64),
) -> Result<Gain, DecideError> {
    let target = Target::of(ideal, interval);
    let runtime = target.deviation(&Chain::new(std::slice::from_ref(runtime), channel)?)?;
    let best = match limits.filter(|_| runtime.max_lsb > 0).map(|limits| target.best(limits)) {
        None | Some(Err(BestError::NoneLegal { .. })) => None,
        Some(Ok(best)) => Some(best),
        Some(Err(BestError::Decide(error))) => return Err(error),
    };
    Ok(Gain { runtime, best })
}
