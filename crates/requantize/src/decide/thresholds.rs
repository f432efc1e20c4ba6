//! Represents a monotone function on an interval by its thresholds. A threshold is an accumulator at which the
//! function's result becomes larger.

use crate::{FormError, OutsideDomain, Per, Step, form::Channel};
use smallvec::SmallVec;
use std::ops::RangeInclusive;

/// The largest number of thresholds for which this module compares functions. No function with 16-bit results has more.
pub const MAX_STEPS: u32 = 0xFFFF;

/// The reason why it cannot be decided whether a chain of steps has a certain property for all inputs in an interval.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecideError {
    /// The chain has no step.
    #[error("a chain of no steps")]
    Empty,
    /// The lower end of the interval is above the upper end.
    #[error("the interval [{0}, {1}] is empty")]
    Interval(i64, i64),
    /// The parameters of a step are not legal.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The interval, or its image under the earlier steps, is not inside the domain of a step.
    #[error(transparent)]
    Domain(#[from] OutsideDomain),
    /// A function with 32-bit results has more than [`MAX_STEPS`] thresholds on the interval, and cannot be compared by
    /// its parameters alone.
    #[error("{steps} steps on the interval are above {MAX_STEPS}")]
    TooManySteps {
        /// The number of thresholds.
        steps: u32,
    },
    /// A quantization of floats has a scale that is not positive and finite.
    #[error("the scale {0}, or its reciprocal, is not positive and finite")]
    Scale(f32),
    /// An accumulator has a magnitude above 2^50, for which the ideal function is not computed.
    #[error("accumulator {0} is beyond 2^50")]
    Distant(i64),
    /// This threshold does not fit into `i32`. A conversion to [`Requantization::Steps`](crate::Requantization::Steps)
    /// requires that all thresholds fit.
    #[error("threshold {0} is outside i32")]
    Wide(i64),
    /// The numbers of channels of two steps, or of a step and the intervals, differ.
    #[error("{found} channels where there are {expected} elsewhere")]
    Channels {
        /// The number of channels of the first step or interval.
        expected: usize,
        /// The number of channels of the other step or interval.
        found: usize,
    },
}

/// The number of thresholds that are computed in one batch. A function into 8 bits needs a single batch.
const AT_A_TIME: usize = 255;

/// Computes the thresholds of a function in batches. `lowest` and `highest` are the function's results at the ends of
/// an interval. `firsts` is called with a range of results and gives, for each of these results, the first accumulator
/// at which the function reaches it.
pub(super) fn sweep(
    [lowest, highest]: [i32; 2],
    firsts: impl Fn(RangeInclusive<i64>) -> Vec<i64>,
) -> impl Iterator<Item = i64> {
    let (first, last) = (i64::from(lowest) + 1, i64::from(highest));
    let pieces = (first..=last).step_by(AT_A_TIME);
    pieces.flat_map(move |from| firsts(from..=last.min(from + AT_A_TIME as i64 - 1)))
}

/// One channel of a chain of steps. Each step is applied to the result of the previous step.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    pub(super) stages: SmallVec<[(Channel<'a>, Option<[i32; 2]>); 2]>,
}

impl<'a> Chain<'a> {
    /// Looks up and checks one channel of every step.
    pub fn new(steps: &'a [Step], channel: usize) -> Result<Self, DecideError> {
        if steps.is_empty() {
            return Err(DecideError::Empty);
        }
        let stage = |step: &'a Step| {
            step.check_clamp()?;
            Ok::<_, FormError>((step.form.channel(channel)?, step.clamp))
        };
        Ok(Chain {
            stages: steps.iter().map(stage).collect::<Result<_, _>>()?,
        })
    }

    /// The result for one accumulator. It is an error if a step is not defined for the number that it gets.
    pub fn eval(&self, acc: i64) -> Result<i32, OutsideDomain> {
        let mut value = acc;
        let mut last = 0;
        for (form, clamp) in &self.stages {
            last = crate::step::clamp(form.eval(value)?, *clamp);
            value = i64::from(last);
        }
        Ok(last)
    }

    /// The results at the ends of an interval.
    pub(super) fn ends(&self, interval: (i64, i64)) -> Result<[i32; 2], DecideError> {
        values(interval, |x| self.eval(x).map_err(DecideError::from))
    }

    /// True if the other chain has the same steps.
    pub(super) fn is_same(&self, other: &Chain<'_>) -> bool {
        let same = |((a, clamp), (b, other)): (&(Channel<'_>, _), &(Channel<'_>, _))| {
            clamp == other && a.arithmetic() == b.arithmetic() && a.range() == b.range()
        };
        self.stages.len() == other.stages.len() && self.stages.iter().zip(&other.stages).all(same)
    }

    fn firsts(&self, codes: RangeInclusive<i64>) -> Vec<i64> {
        match &self.stages[..] {
            // A clamp does not change the thresholds of the results inside its range.
            [(only, _)] => only.firsts(codes),
            _ => codes.map(|k| self.least_reaching(k)).collect(),
        }
    }

    /// The thresholds on an interval, computed in batches. `ends` are the chain's results at the ends of the interval.
    pub(super) fn sweep(&self, ends: [i32; 2]) -> impl Iterator<Item = i64> {
        sweep(ends, |values| self.firsts(values))
    }

    /// Returns the smallest accumulator in the first step's domain for which the chain's result is at least `value`. If
    /// there is none, returns the integer after the end of the domain. The accumulator is found by inverting each step,
    /// the last one first:
    ///
    /// f2(f1(x)) >= k iff f1(x) >= T2(k) iff x >= T1(T2(k)), where T1(k) is the smallest x with f1(x) >= k, and T2(k)
    /// the same for f2. After a clamp to [a, b], every result is at least k if k <= a, and no result is at least k if k
    /// > b.
    pub(super) fn least_reaching(&self, value: i64) -> i64 {
        self.stages.iter().rev().fold(value, |value, (form, clamp)| {
            form.least_reaching(match clamp {
                Some([low, _]) if value <= i64::from(*low) => i64::MIN,
                Some([_, high]) if value > i64::from(*high) => i64::MAX,
                _ => value,
            })
        })
    }
}

/// A function f on `[low, high]`, given by its thresholds `T_k = min { x : f(x) >= k }`. A larger x never gives a
/// smaller result.
///
/// Two functions are equal on the interval exactly if their thresholds and their lowest results are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    interval: (i64, i64),
    lowest: i32,
    /// `T_k` for k = lowest + 1 ..= f(high). All of them lie in `low + 1 ..= high`.
    at: Vec<i64>,
}

impl Thresholds {
    /// The thresholds of one channel of a chain, in closed form. For results of eight bits, this takes microseconds.
    pub fn of(steps: &[Step], channel: usize, interval: (i64, i64)) -> Result<Self, DecideError> {
        let chain = Chain::new(steps, channel)?;
        let (lowest, highest) = ends(interval, |x| chain.eval(x).map_err(DecideError::from))?;
        Ok(Thresholds {
            interval,
            lowest,
            at: chain.firsts(i64::from(lowest) + 1..=i64::from(highest)),
        })
    }

    /// Finds the thresholds of a function on the interval by bisection. The caller has to make sure that a larger x
    /// never gives a smaller result. Otherwise the thresholds describe another function.
    pub fn by_bisection<E: From<DecideError>>(
        interval: (i64, i64),
        mut f: impl FnMut(i64) -> Result<i32, E>,
    ) -> Result<Self, E> {
        let (lowest, highest) = ends(interval, &mut f)?;
        let mut at = Vec::new();
        let mut no = interval.0;
        for code in i64::from(lowest) + 1..=i64::from(highest) {
            // f(no) < code <= f(yes). A larger code never has a smaller threshold, so `no` can be kept for the next
            // code.
            let mut yes = interval.1;
            while yes.abs_diff(no) > 1 {
                // The sum does not overflow, because half of the distance fits into the type. The result lies between
                // `no` and `yes`.
                let middle = no + (yes.abs_diff(no) / 2) as i64;
                if i64::from(f(middle)?) >= code {
                    yes = middle;
                } else {
                    no = middle;
                }
            }
            at.push(yes);
        }
        Ok(Thresholds { interval, lowest, at })
    }

    /// The interval, both ends included.
    pub fn interval(&self) -> (i64, i64) {
        self.interval
    }

    /// The function's result at the lower end of the interval.
    pub fn lowest(&self) -> i32 {
        self.lowest
    }

    /// The function's result at the upper end of the interval.
    pub fn highest(&self) -> i32 {
        // There are at most MAX_STEPS thresholds, and the function's results are i32.
        self.lowest + self.at.len() as i32
    }

    /// `T_k` for `k = lowest() + 1 ..= highest()`.
    pub fn steps(&self) -> &[i64] {
        &self.at
    }

    /// Returns the threshold `T_k` for any result `k`. If no result is below `k`, returns the lower end of the
    /// interval. If no result reaches `k`, returns the integer after the upper end, or `i64::MAX` if the interval ends
    /// there.
    pub fn reaching(&self, code: i32) -> i64 {
        match usize::try_from(i64::from(code) - i64::from(self.lowest) - 1) {
            Ok(index) => self.at.get(index).copied().unwrap_or(self.interval.1.saturating_add(1)),
            Err(_) => self.interval.0,
        }
    }

    /// The result of the function at `x`. Outside of the interval, the result at the nearer end.
    pub fn eval(&self, x: i64) -> i32 {
        self.lowest + self.at.partition_point(|t| *t <= x) as i32
    }
}

/// The results of a function at the ends of an interval.
pub(super) fn values<E: From<DecideError>>(
    (low, high): (i64, i64),
    mut f: impl FnMut(i64) -> Result<i32, E>,
) -> Result<[i32; 2], E> {
    if low > high {
        return Err(DecideError::Interval(low, high).into());
    }
    Ok([f(low)?, f(high)?])
}

/// Like [`values`], but with an error if there are more than [`MAX_STEPS`] thresholds in the interval.
fn ends<E: From<DecideError>>(interval: (i64, i64), f: impl FnMut(i64) -> Result<i32, E>) -> Result<(i32, i32), E> {
    let ends = values(interval, f)?;
    few_steps(ends)?;
    Ok((ends[0], ends[1]))
}

/// Checks that a function has at most [`MAX_STEPS`] thresholds. `lowest` and `highest` are its results at the ends of
/// an interval.
pub(super) fn few_steps([lowest, highest]: [i32; 2]) -> Result<(), DecideError> {
    match highest.abs_diff(lowest) {
        steps if steps > MAX_STEPS => Err(DecideError::TooManySteps { steps }),
        _ => Ok(()),
    }
}

/// The number of channels that the steps and intervals have in common. `None` if none of them has channels.
pub(crate) fn common_channels<'a>(
    steps: impl IntoIterator<Item = &'a Step>,
    intervals: &Per<(i64, i64)>,
) -> Result<Option<usize>, DecideError> {
    let mut channels = intervals.channels();
    for found in steps.into_iter().filter_map(|s| s.form.channels()) {
        match channels {
            Some(expected) if expected != found => return Err(DecideError::Channels { expected, found }),
            _ => channels = Some(found),
        }
    }
    Ok(channels)
}
