//! Finds what is lost because a runtime derives its integers by a rule of its own from the scales in the file.

use super::{
    best::{Best, BestError, Limits, Target},
    ideal::Ideal,
    thresholds::{Chain, DecideError},
};
use crate::Step;
use crate::decide::difference::Deviation;

/// What could be gained if the integers of a form could be chosen freely and did not follow from scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// How far the runtime's own integers are from the ideal.
    pub runtime: Deviation,
    /// The best integers. `None` if the runtime's own already give the ideal function, or if the form has no integers
    /// to choose.
    pub best: Option<Best>,
}

impl Gain {
    /// True if the best integers are nearer to the ideal than the runtime's own.
    pub fn is_any(&self) -> bool {
        let best = self.best.as_ref().and_then(|best| best.deviation);
        best.is_some_and(|best| (best.max_lsb, best.differing) < (self.runtime.max_lsb, self.runtime.differing))
    }
}

/// Compares the runtime's own integers, and the best ones within the limits, with the ideal. This replaces nothing,
/// because the file stores scales. A form without limits, such as one with an `f32` scale, has no integers to choose.
///
/// # Errors
/// The interval is empty or leaves the domain of the runtime's form; the comparison takes too many steps.
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
