use super::{Arithmetic, FormError, OutsideDomain, Requantization, Scalars};
use crate::IntType;
use std::ops::RangeInclusive;

/// One channel of a form with its parameters looked up and found legal: what to hold while many accumulators pass, and
/// what a kernel takes its constants from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channel<'a> {
    form: &'a Requantization,
    channel: usize,
    arithmetic: Arithmetic<'a>,
    out: IntType,
    range: [i32; 2],
    domain: (i64, i64),
}

impl Requantization {
    /// One channel, its parameters looked up and checked.
    pub fn channel(&self, channel: usize) -> Result<Channel<'_>, FormError> {
        self.form().rules()?;
        let Scalars {
            arithmetic,
            inputs,
            results,
        } = self.form().scalars(channel)?;
        let fields = self.form().fields();
        arithmetic.check(channel, fields.out)?;
        let (low, high) = match arithmetic {
            Arithmetic::Affine(a) => a.domain(),
            Arithmetic::Doubling(d) => d.domain(),
            Arithmetic::Double(f) => f.domain(),
            Arithmetic::Float(_) | Arithmetic::FloatAffine(_) | Arithmetic::Steps(_) => {
                i64::from(i32::MIN)..=i64::from(i32::MAX)
            }
        }
        .into_inner();
        let (mut low, mut high) = (low.max(inputs.0), high.min(inputs.1));
        if let Some([least, most]) = results {
            // What reaches `least`, and does not reach past `most`.
            (low, high) = (
                arithmetic.first(low, high, least),
                arithmetic.first(low, high, most + 1) - 1,
            );
        }
        Ok(Channel {
            form: self,
            channel,
            arithmetic,
            out: fields.out,
            range: fields.range(),
            domain: (low, high),
        })
    }
}

impl Arithmetic<'_> {
    /// The result for one accumulator inside the arithmetic's domain, before saturation.
    fn wide(&self, x: i64) -> i64 {
        match self {
            Arithmetic::Affine(a) => a.wide(x),
            Arithmetic::Doubling(d) => d.wide(x),
            Arithmetic::Float(f) => f.wide(x),
            Arithmetic::Double(f) => f.wide(x),
            Arithmetic::FloatAffine(f) => f.wide(x),
            Arithmetic::Steps(s) => s.wide(x),
        }
    }

    /// The first accumulator of `low ..= high` whose result is at least `value`; `high + 1` where none is.
    ///
    /// In closed form for integer arithmetic. In float a guess in `f64` misses by a few accumulators at most, which a
    /// gallop from it makes up for; it is exact whatever the guess, since the arithmetic is non-decreasing.
    fn first(&self, low: i64, high: i64, value: i64) -> i64 {
        let least = match self {
            Arithmetic::Affine(a) => a.least_reaching(value),
            Arithmetic::Doubling(d) => d.least_reaching(value),
            Arithmetic::Steps(s) => s.least_reaching(value),
            Arithmetic::Double(f) => return gallop(low, high, f.guess(value), |x| f.wide(x) >= value),
            Arithmetic::Float(f) => return gallop(low, high, f.guess(value), |x| f.wide(x) >= value),
            Arithmetic::FloatAffine(f) => return gallop(low, high, f.guess(value), |x| f.wide(x) >= value),
        };
        // The clamp leaves an i64.
        least.clamp(i128::from(low), i128::from(high) + 1) as i64
    }
}

impl<'a> Channel<'a> {
    /// The family and its scalars.
    pub fn arithmetic(&self) -> Arithmetic<'a> {
        self.arithmetic
    }

    /// Integer type that the result saturates to.
    pub fn out(&self) -> IntType {
        self.out
    }

    /// Between which ends the results lie: those of [`out`](Channel::out), less what a ReLU inside of the form cuts
    /// off.
    pub fn range(&self) -> [i32; 2] {
        self.range
    }

    /// The channel's number.
    pub fn index(&self) -> usize {
        self.channel
    }

    /// Accumulators for which no intermediate result overflows; never empty, and the ends lie strictly inside `i64`.
    pub fn domain(&self) -> RangeInclusive<i64> {
        self.domain.0..=self.domain.1
    }

    /// The result for one accumulator.
    pub fn eval(&self, acc: i64) -> Result<i32, OutsideDomain> {
        let domain = self.domain();
        if domain.contains(&acc) {
            return Ok(self.eval_inside(acc));
        }
        Err(OutsideDomain {
            kind: self.form.kind(),
            channel: self.channel,
            acc,
            domain,
        })
    }

    /// The result for an accumulator that is inside the domain.
    pub(crate) fn eval_inside(&self, acc: i64) -> i32 {
        let [low, high] = self.range.map(i64::from);
        // The ends are i32.
        self.arithmetic.wide(acc).min(high).max(low) as i32
    }

    /// The smallest accumulator of the domain whose result is at least `value`; one past the domain where none is.
    pub fn least_reaching(&self, value: i64) -> i64 {
        let (low, high) = self.domain;
        // Saturation: every result reaches the smallest value, none reaches past the largest.
        if value <= i64::from(self.range[0]) {
            return low;
        }
        if value > i64::from(self.range[1]) {
            return high + 1;
        }
        self.arithmetic.first(low, high, value)
    }

    /// [`Channel::least_reaching`] of each of these values, all of which are results of accumulators of the domain and
    /// none of which all of them reach.
    pub(crate) fn firsts(&self, values: RangeInclusive<i64>) -> Vec<i64> {
        match self.arithmetic {
            Arithmetic::Affine(a) => a.firsts(values),
            Arithmetic::Doubling(d) => d.firsts(values),
            _ => values.map(|value| self.least_reaching(value)).collect(),
        }
    }

    /// True if the channel is `sat(x)`.
    pub fn is_identity(&self) -> bool {
        let whole = self.range == [self.out.min(), self.out.max()];
        whole
            && match self.arithmetic {
                Arithmetic::Affine(a) => a.is_identity(),
                // Not of i32: 2^31 - 1 is no factor of one, and the second rounding shifts by one at least.
                Arithmetic::Doubling(_) => false,
                Arithmetic::Float(f) => f.is_identity(self.out.bits()),
                Arithmetic::Double(f) => f.is_identity(),
                Arithmetic::FloatAffine(f) => f.is_identity(self.out.bits()),
                Arithmetic::Steps(s) => s.is_identity(self.out),
            }
    }
}

/// The first `x` of `low ..= high` for which a monotone predicate holds, `high + 1` where it holds for none: steps of
/// doubling size from `guess`, then bisection. A few evaluations where the guess is near.
fn gallop(low: i64, high: i64, guess: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let guess = guess.clamp(low, high);
    // Invariant: it holds at `yes` (or yes = high + 1), and not at `no` (or no = low - 1).
    let (mut no, mut yes, mut step) = (low - 1, high + 1, 1);
    if holds(guess) {
        yes = guess;
        while yes - step > no {
            if !holds(yes - step) {
                no = yes - step;
                break;
            }
            yes -= step;
            step *= 2;
        }
    } else {
        no = guess;
        while no + step < yes {
            if holds(no + step) {
                yes = no + step;
                break;
            }
            no += step;
            step *= 2;
        }
    }
    while yes - no > 1 {
        let middle = no + (yes - no) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes
}
