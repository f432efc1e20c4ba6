//! Difference of two chains of steps on an interval: the verifier's own procedure.
//!
//! The definition of a chain is shared with the compiler: the result of a step for one accumulator (`eval`), where it
//! is defined (its domain, an interval), and that it does not decrease there. What follows from that for a whole
//! interval is derived here, without the compiler's thresholds and closed forms:
//!
//! 1. Every chain has to be defined at both ends of the interval. Domains are intervals and steps do not decrease, so
//!    it is defined between them, too.
//! 2. The same steps are the same function.
//! 3. Functions are equal where the parameters of their only steps are equal once they are brought into one form
//!    ([`parameters`]).
//! 4. Other functions are compared run by run, where a run is a stretch of accumulators with one value and its end is
//!    found by bisection ([`walk`]). No run is kept. Nothing more is decided of functions of many values (results of 32
//!    bits).

mod floats;
mod parameters;
mod walk;

pub(crate) use floats::compare_floats;

use crate::intervals::Interval;
use strait_requantize::{FormError, OutsideDomain, Per, Step, Verdict, form::Channel};
use walk::{Difference, MOST_RUNS};

/// Reason why two functions cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Undecided {
    /// No step replaces the chain.
    #[error("no step replaces the chain")]
    NoStep,
    /// The interval's ends are not in order, or there is no float at one of them.
    #[error("the interval [{0}, {1}] is empty or goes too far")]
    Interval(i64, i64),
    /// A step's parameters are not legal.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The interval, or what an earlier step makes of it, leaves the domain of a step.
    #[error(transparent)]
    Domain(#[from] OutsideDomain),
    /// A quantization of floats is by a scale that is not positive and finite.
    #[error("the scale {0}, or its reciprocal, is not positive and finite")]
    Scale(f32),
    /// Two steps, or a step and the intervals, disagree about the number of channels.
    #[error("{found} channels where there are {expected} elsewhere")]
    Channels {
        /// Channels of what came first.
        expected: usize,
        /// Channels of what differs.
        found: usize,
    },
    /// A value below the one before it: a defect of the function's definition.
    #[error("the function decreases at {0}")]
    Decreases(i64),
}

/// One channel of a chain: clamps behind requantizations, each applied to the result of the one before. A chain without
/// steps changes nothing.
struct Function<'a> {
    stages: Vec<(Channel<'a>, Option<[i32; 2]>)>,
}

impl<'a> Function<'a> {
    fn new(steps: &'a [Step], channel: usize) -> Result<Function<'a>, FormError> {
        let stage = |step: &'a Step| {
            if let Some([low, high]) = step.clamp.filter(|[low, high]| low > high) {
                return Err(FormError::Clamp { low, high });
            }
            Ok((step.form.channel(channel)?, step.clamp))
        };
        let stages = steps.iter().map(stage).collect::<Result<_, _>>()?;
        Ok(Function { stages })
    }

    fn eval(&self, x: i64) -> Result<i64, OutsideDomain> {
        self.stages.iter().try_fold(x, |x, (form, clamp)| {
            let value = form.eval(x)?;
            Ok(clamp.map_or(value, |[low, high]| value.min(high).max(low)).into())
        })
    }
}

/// Two chains of which one is to stand for the other.
#[derive(Clone, Copy)]
pub(crate) struct Chains<'a> {
    before: &'a [Step],
    after: &'a [Step],
    same: bool,
}

impl<'a> Chains<'a> {
    pub(crate) fn new(before: &'a [Step], after: &'a [Step]) -> Chains<'a> {
        let same = before == after;
        Chains { before, after, same }
    }

    /// Difference of the chains on the values that can reach a channel.
    pub(crate) fn compare(&self, channel: usize, Interval { low, high }: Interval) -> Result<Verdict, Undecided> {
        if low > high {
            return Err(Undecided::Interval(low, high));
        }
        let before = Function::new(self.before, channel)?;
        let ends = |function: &Function<'_>| Ok::<_, Undecided>([function.eval(low)?, function.eval(high)?]);
        let before_ends = ends(&before)?;
        if self.same {
            return Ok(Verdict::Exact);
        }
        let after = Function::new(self.after, channel)?;
        let after_ends = ends(&after)?;
        // With R the same in both, a clamp of R's results does not show where the values at both ends are the same:
        // clamp(R(x), a, b) = clamp(R(x), f(low), f(high)).
        if before_ends == after_ends && parameters::are_equal(&before, &after) {
            return Ok(Verdict::Exact);
        }
        // A function that does not decrease has no more runs than values between its ends, and no more than
        // accumulators.
        let values = |[low, high]: [i64; 2]| high.abs_diff(low);
        let runs = values(before_ends).saturating_add(values(after_ends));
        if runs.min(high.abs_diff(low)) <= MOST_RUNS {
            let eval = |function: &Function<'_>, x| function.eval(x).map_err(Undecided::from);
            let found = walk::compare(|x| eval(&before, x), |x| eval(&after, x), (low, high))?;
            return Ok(found.into());
        }
        Ok(Verdict::Unknown)
    }

    /// [`Chains::compare`] on every channel: one verdict where the steps and the interval are the same for all, one per
    /// channel otherwise.
    pub(crate) fn verdicts(&self, interval: &Per<(i64, i64)>) -> Result<Per<Verdict>, Undecided> {
        let steps = self.before.iter().chain(self.after);
        let mut channels = interval.channels();
        for step in steps {
            step.check()?;
            let found = step.form.channels();
            if let (Some(expected), Some(found)) = (channels, found)
                && expected != found
            {
                return Err(Undecided::Channels { expected, found });
            }
            channels = channels.or(found);
        }
        let at = |channel: usize| {
            let (expected, found) = (channels.unwrap_or(1), channel);
            let &(low, high) = interval.get(channel).ok_or(Undecided::Channels { expected, found })?;
            self.compare(channel, Interval { low, high })
        };
        match channels {
            None => at(0).map(Per::Tensor),
            Some(count) => (0..count).map(at).collect::<Result<_, _>>().map(Per::Channel),
        }
    }
}

impl From<Difference> for Verdict {
    fn from(found: Difference) -> Verdict {
        match found.max_lsb {
            0 => Verdict::Exact,
            max_lsb => Verdict::Bounded {
                max_lsb,
                witness: found.witness,
                share: found.differing as f64 / found.of as f64,
            },
        }
    }
}
