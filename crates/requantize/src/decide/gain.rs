//! Loss where a runtime derives the integers by its own rule from the scales that its file stores.

use super::{
    best::{Best, BestError, Limits, Target},
    deviation::Deviation,
    ideal::Ideal,
    thresholds::{Chain, DecideError},
};
use crate::Step;

/// Possible gain of a form, if its integers were free instead of derived from scales by the runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// Distance of the runtime's own integers from the ideal.
    pub runtime: Deviation,
    /// The best that there are; `None` where the runtime's own are the ideal function, so that nothing is to be gained,
    /// and where there are none to choose from.
    pub best: Option<Best>,
}

impl Gain {
    /// True if the best integers are nearer to the ideal than the runtime's own.
    pub fn is_any(&self) -> bool {
        let best = self.best.as_ref().and_then(|best| best.deviation);
        best.is_some_and(|best| (best.max_lsb, best.differing) < (self.runtime.max_lsb, self.runtime.differing))
    }
}

/// Distance from the ideal of a runtime's own integers, and of the best within the limits. Nothing is replaced:
/// what the file stores are scales. A form without limits has no integers to choose, a scale in `f32` for one.
///
/// # Errors
/// Where the interval is none, or leaves the domain of the runtime's form, and where the distance takes too many
/// comparisons.
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
