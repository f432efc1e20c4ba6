//! A non-decreasing step function on an interval, as the list of places where it steps.

use crate::{FormError, OutsideDomain, Per, Step, form::Channel};
use smallvec::SmallVec;
use std::ops::RangeInclusive;

/// The most steps that a function may have here: those of any function into 16 bits.
pub const MAX_STEPS: u32 = 0xFFFF;

/// Reason why a chain of steps cannot be decided on an interval.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecideError {
    /// The chain has no step.
    #[error("a chain of no steps")]
    Empty,
    /// The interval's ends are not in order.
    #[error("the interval [{0}, {1}] is empty")]
    Interval(i64, i64),
    /// A step's parameters are not legal.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The interval, or what an earlier step makes of it, leaves the domain of a step.
    #[error(transparent)]
    Domain(#[from] OutsideDomain),
    /// A function steps more than [`MAX_STEPS`] times on the interval (a 32-bit result), and its parameters alone do
    /// not decide.
    #[error("{steps} steps on the interval are above {MAX_STEPS}")]
    TooManySteps {
        /// Their number.
        steps: u32,
    },
    /// A quantization of floats is by a scale that is not positive and finite.
    #[error("the scale {0}, or its reciprocal, is not positive and finite")]
    Scale(f32),
    /// An accumulator beyond 2^50, where exact ideals are not computed.
    #[error("accumulator {0} is beyond 2^50")]
    Distant(i64),
    /// A step past `i32` in a conversion to [`Requantization::Steps`](crate::Requantization::Steps).
    #[error("threshold {0} is outside i32")]
    Wide(i64),
    /// Two steps, or a step and the intervals, disagree about the number of channels.
    #[error("{found} channels where there are {expected} elsewhere")]
    Channels {
        /// Channels of what came first.
        expected: usize,
        /// Channels of what differs.
        found: usize,
    },
}

/// Thresholds that a sweep makes at a time: all of a function into 8 bits.
const AT_A_TIME: usize = 255;

/// The thresholds of a function with these values at the ends of an interval, some at a time, from the first accumulators that
/// reach each of some values.
pub(super) fn sweep(
    [lowest, highest]: [i32; 2],
    firsts: impl Fn(RangeInclusive<i64>) -> Vec<i64>,
) -> impl Iterator<Item = i64> {
    let (first, last) = (i64::from(lowest) + 1, i64::from(highest));
    let pieces = (first..=last).step_by(AT_A_TIME);
    pieces.flat_map(move |from| firsts(from..=last.min(from + AT_A_TIME as i64 - 1)))
}

/// One channel of a chain of steps, each applied to the result of the one before.
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

    /// The result for one accumulator, or the first step that is not defined for what reaches it.
    pub fn eval(&self, acc: i64) -> Result<i32, OutsideDomain> {
        let mut value = acc;
        let mut last = 0;
        for (form, clamp) in &self.stages {
            last = crate::step::clamp(form.eval(value)?, *clamp);
            value = i64::from(last);
        }
        Ok(last)
    }

    /// The values at the ends of an interval.
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
            // A clamp keeps the thresholds of the values that it leaves.
            [(only, _)] => only.firsts(codes),
            _ => codes.map(|k| self.least_reaching(k)).collect(),
        }
    }

    /// The thresholds on an interval with these values at its ends, some at a time.
    pub(super) fn sweep(&self, ends: [i32; 2]) -> impl Iterator<Item = i64> {
        sweep(ends, |values| self.firsts(values))
    }

    /// The smallest accumulator of the first step's domain whose result is at least `value`, one past it where none is:
    /// the inverse of each step, last one first.
    ///
    /// f2(f1(x)) >= k  iff  f1(x) >= T2(k)  iff  x >= T1(T2(k)), and a clamp [a, b] reaches k everywhere for k <= a,
    /// nowhere for k > b.
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

/// A non-decreasing function f on `[low, high]` by its thresholds `T_k = min { x : f(x) >= k }`.
///
/// Two functions are equal on the interval exactly when these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    interval: (i64, i64),
    lowest: i32,
    /// `T_k` for k = lowest + 1 ..= f(high); every one lies in `low + 1 ..= high`.
    at: Vec<i64>,
}

impl Thresholds {
    /// The thresholds of one channel of a chain, in closed form: microseconds for eight bits.
    pub fn of(steps: &[Step], channel: usize, interval: (i64, i64)) -> Result<Self, DecideError> {
        let chain = Chain::new(steps, channel)?;
        let (lowest, highest) = ends(interval, |x| chain.eval(x).map_err(DecideError::from))?;
        Ok(Thresholds {
            interval,
            lowest,
            at: chain.firsts(i64::from(lowest) + 1..=i64::from(highest)),
        })
    }

    /// The thresholds of any function that does not decrease on the interval, by bisection. The caller answers for
    /// that; where it does decrease the result describes another function.
    pub fn by_bisection<E: From<DecideError>>(
        interval: (i64, i64),
        mut f: impl FnMut(i64) -> Result<i32, E>,
    ) -> Result<Self, E> {
        let (lowest, highest) = ends(interval, &mut f)?;
        let mut at = Vec::new();
        let mut no = interval.0;
        for code in i64::from(lowest) + 1..=i64::from(highest) {
            // f(no) < code <= f(yes); thresholds do not decrease, so `no` serves the next code too.
            let mut yes = interval.1;
            while yes.abs_diff(no) > 1 {
                // No overflow, and inside: half of the distance fits the type.
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

    /// Both ends belong to it.
    pub fn interval(&self) -> (i64, i64) {
        self.interval
    }

    /// The value at the lower end.
    pub fn lowest(&self) -> i32 {
        self.lowest
    }

    /// The value at the upper end.
    pub fn highest(&self) -> i32 {
        // At most MAX_STEPS thresholds, up to a value that is an i32.
        self.lowest + self.at.len() as i32
    }

    /// `T_k` for `k = lowest() + 1 ..= highest()`.
    pub fn steps(&self) -> &[i64] {
        &self.at
    }

    /// `T_k` of any `k`: the lower end where the function is nowhere below `k`, one past the upper end where it is
    /// nowhere as large (`i64` ends there, so one past it saturates).
    pub fn reaching(&self, code: i32) -> i64 {
        match usize::try_from(i64::from(code) - i64::from(self.lowest) - 1) {
            Ok(index) => self.at.get(index).copied().unwrap_or(self.interval.1.saturating_add(1)),
            Err(_) => self.interval.0,
        }
    }

    /// The function's value; that of the nearer end outside of the interval.
    pub fn eval(&self, x: i64) -> i32 {
        self.lowest + self.at.partition_point(|t| *t <= x) as i32
    }
}

/// The values at the ends of an interval.
pub(super) fn values<E: From<DecideError>>(
    (low, high): (i64, i64),
    mut f: impl FnMut(i64) -> Result<i32, E>,
) -> Result<[i32; 2], E> {
    if low > high {
        return Err(DecideError::Interval(low, high).into());
    }
    Ok([f(low)?, f(high)?])
}

/// The same, if there are at most [`MAX_STEPS`] between them.
fn ends<E: From<DecideError>>(interval: (i64, i64), f: impl FnMut(i64) -> Result<i32, E>) -> Result<(i32, i32), E> {
    let ends = values(interval, f)?;
    few_steps(ends)?;
    Ok((ends[0], ends[1]))
}

/// Checks that a function with these values at the ends of an interval has at most [`MAX_STEPS`] between them.
pub(super) fn few_steps([lowest, highest]: [i32; 2]) -> Result<(), DecideError> {
    match highest.abs_diff(lowest) {
        steps if steps > MAX_STEPS => Err(DecideError::TooManySteps { steps }),
        _ => Ok(()),
    }
}

/// The number of channels of steps and intervals, `None` where all of them serve any number.
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
