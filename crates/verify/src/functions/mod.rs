//! The verifier's own procedure for finding how far two chains of steps differ on an interval.
//!
//! The compiler and this procedure share only the definition of a step: its result for one accumulator (`eval`), its
//! domain (an interval), and that a larger accumulator in the domain never gives a smaller result. Everything about a
//! whole interval is derived here, without the compiler's thresholds and closed forms:
//!
//! 1. Every chain has to be defined at both ends of the interval. Domains are intervals, and a larger accumulator never
//!    gives a smaller result, so the chain is then defined in between too.
//! 2. Two chains with the same steps compute the same function.
//! 3. Two functions of a single step are equal if the parameters of their steps are equal after both were brought into
//!    the same form ([`parameters`]).
//! 4. Other functions are compared run by run. A run is a range of neighbouring accumulators with the same result, and
//!    its end is found by bisection ([`walk`]). Runs are not stored. For functions with 32-bit results, the comparison
//!    would take too long, and the question remains undecided.

mod floats;
mod parameters;
mod walk;

pub(crate) use floats::compare_floats;

use crate::intervals::Interval;
use strait_requantize::{FormError, OutsideDomain, Per, Step, Verdict, form::Channel};
use walk::{Difference, MOST_RUNS};

/// The reason why two functions cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Undecided {
    /// The certificate contains no step that would replace the chain.
    #[error("no step replaces the chain")]
    NoStep,
    /// The interval is empty, or one of its ends is not a position in the order of floats.
    #[error("the interval [{0}, {1}] is empty or goes too far")]
    Interval(i64, i64),
    /// The parameters of a step are not valid.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The interval, or its image under the earlier steps, is not inside the domain of a step.
    #[error(transparent)]
    Domain(#[from] OutsideDomain),
    /// A quantization of floats has a scale that is not positive and finite.
    #[error("the scale {0}, or its reciprocal, is not positive and finite")]
    Scale(f32),
    /// The numbers of channels of two steps, or of a step and the intervals, differ.
    #[error("{found} channels where there are {expected} elsewhere")]
    Channels {
        /// The number of channels of the first step or interval.
        expected: usize,
        /// The number of channels of the other step or interval.
        found: usize,
    },
    /// The result of the function is smaller at this accumulator than at a smaller one. This is a defect in the
    /// definition of the function.
    #[error("the function decreases at {0}")]
    Decreases(i64),
}

/// One channel of a chain: its steps, each applied to the result of the previous step. A step is a requantization
/// followed by a clamp. A chain without steps changes nothing.
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

/// Two chains that are compared with each other.
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

    /// The verdict about the chains, for the accumulators that can occur in a channel.
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
        // A function f(x) = clamp(R(x), a, b) whose R never decreases equals clamp(R(x), f(low), f(high)) from `low` to
        // `high`. So if both functions have the same R and the same results at the ends, they are equal in between too.
        if before_ends == after_ends && parameters::are_equal(&before, &after) {
            return Ok(Verdict::Exact);
        }
        // The results of a chain never decrease. So the number of its runs is limited by the number of integers between
        // its results at the ends, and by the number of accumulators.
        let values = |[low, high]: [i64; 2]| high.abs_diff(low);
        let runs = values(before_ends).saturating_add(values(after_ends));
        if runs.min(high.abs_diff(low)) <= MOST_RUNS {
            let eval = |function: &Function<'_>, x| function.eval(x).map_err(Undecided::from);
            let found = walk::compare(|x| eval(&before, x), |x| eval(&after, x), (low, high))?;
            return Ok(found.into());
        }
        Ok(Verdict::Unknown)
    }

    /// Returns the result of [`Chains::compare`] for every channel. If neither the steps nor the interval have
    /// channels, returns one verdict for all channels.
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
