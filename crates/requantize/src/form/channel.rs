use super::{Arithmetic, FormError, OutsideDomain, Requantization, Scalars};
use crate::IntType;
use std::ops::RangeInclusive;

/// One channel of a form, with its parameters looked up and checked. It is used to requantize many accumulators, or to
/// get the constants for a kernel.
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
    /// Looks up and checks one channel.
    pub fn channel(&self, channel: usize) -> Result<Channel<'_>, FormError> {
        self.form().rules()?;
        let Scalars {
            arithmetic,
            inputs,
            results,
        } = self.form().scalars(channel)?;
        arithmetic.check(channel, self.out())?;
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
            // Limits the domain to the accumulators whose results lie between `least` and `most`, the smallest and the
            // largest result that are allowed. Usually that is every accumulator. Results never fall as accumulators
            // grow, so the results at both ends show it without a search. Both ends lie in the arithmetic's own domain.
            let [lowest, highest] = [low, high].map(|end| arithmetic.wide(end));
            let first = |value| arithmetic.first(low, high, value);
            (low, high) = (
                if lowest < least { first(least) } else { low },
                if highest > most { first(most + 1) - 1 } else { high },
            );
        }
        Ok(Channel {
            form: self,
            channel,
            arithmetic,
            out: self.out(),
            range: self.range(),
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

    /// Returns the first accumulator in `low ..= high` whose result is at least `value`, or `high + 1` if there is
    /// none.
    ///
    /// For integer arithmetic, a formula gives this accumulator. For float arithmetic, a guess in `f64` is off by a few
    /// accumulators at most, and a short search from the guess finds the exact accumulator. The search finds it from
    /// any guess, because a larger accumulator never gives a smaller result.
    fn first(&self, low: i64, high: i64, value: i64) -> i64 {
        let least = match self {
            Arithmetic::Affine(a) => a.least_reaching(value),
            Arithmetic::Doubling(d) => d.least_reaching(value),
            Arithmetic::Steps(s) => s.least_reaching(value),
            Arithmetic::Double(f) => return gallop(low, high, f.guess(value), |x| f.wide(x) >= value),
            Arithmetic::Float(f) => return gallop(low, high, f.guess(value), |x| f.wide(x) >= value),
            Arithmetic::FloatAffine(f) => return gallop(low, high, f.guess(value), |x| f.wide(x) >= value),
        };
        // After the clamp, the number fits into i64.
        least.clamp(i128::from(low), i128::from(high) + 1) as i64
    }
}

impl<'a> Channel<'a> {
    /// The family of arithmetic, with the parameters of this channel.
    pub fn arithmetic(&self) -> Arithmetic<'a> {
        self.arithmetic
    }

    /// The integer type to which the result saturates.
    pub fn out(&self) -> IntType {
        self.out
    }

    /// Returns the smallest and the largest result. They are the ends of the type [`out`](Channel::out), but if the
    /// form includes a ReLU, the smallest result is the code of real zero.
    pub fn range(&self) -> [i32; 2] {
        self.range
    }

    /// The index of the channel.
    pub fn index(&self) -> usize {
        self.channel
    }

    /// The accumulators for which no intermediate result overflows. The interval is not empty, and it contains neither
    /// `i64::MIN` nor `i64::MAX`.
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

    /// The result for an accumulator that lies inside the domain. This is not checked.
    pub(crate) fn eval_inside(&self, acc: i64) -> i32 {
        let [low, high] = self.range.map(i64::from);
        // The ends of the range are i32, so the result fits into i32.
        self.arithmetic.wide(acc).min(high).max(low) as i32
    }

    /// Returns the smallest accumulator of the domain whose result is at least `value`. If there is none, returns the
    /// integer after the end of the domain.
    pub fn least_reaching(&self, value: i64) -> i64 {
        let (low, high) = self.domain;
        // Because of saturation, every result is at least the smallest number of the range, and none is above the
        // largest.
        if value <= i64::from(self.range[0]) {
            return low;
        }
        if value > i64::from(self.range[1]) {
            return high + 1;
        }
        self.arithmetic.first(low, high, value)
    }

    /// Calls [`Channel::least_reaching`] for each number in `values`. For each of these numbers, some accumulators in
    /// the domain must have results that are at least this number, and others must have results below it.
    pub(crate) fn firsts(&self, values: RangeInclusive<i64>) -> Vec<i64> {
        match self.arithmetic {
            Arithmetic::Affine(a) => a.firsts(values),
            Arithmetic::Doubling(d) => d.firsts(values),
            _ => values.map(|value| self.least_reaching(value)).collect(),
        }
    }

    /// True if the channel computes `sat(x)`.
    pub fn is_identity(&self) -> bool {
        let whole = self.range == [self.out.min(), self.out.max()];
        whole
            && match self.arithmetic {
                Arithmetic::Affine(a) => a.is_identity(),
                // Doubling arithmetic is never the identity on i32: its factor is at most (2^31 - 1) / 2^31, which is
                // below one, and the second rounding shifts by at least one bit.
                Arithmetic::Doubling(_) => false,
                Arithmetic::Float(f) => f.is_identity(self.out.bits()),
                Arithmetic::Double(f) => f.is_identity(),
                Arithmetic::FloatAffine(f) => f.is_identity(self.out.bits()),
                Arithmetic::Steps(s) => s.is_identity(self.out),
            }
    }
}

/// Returns the first `x` in `low ..= high` for which a monotone predicate is true, or `high + 1` if there is none. The
/// search starts at `guess` with steps that double in size, then bisects. If the guess is near, a few evaluations are
/// enough.
fn gallop(low: i64, high: i64, guess: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let guess = guess.clamp(low, high);
    // Invariant: the predicate is true at `yes` (or yes = high + 1), and false at `no` (or no = low - 1).
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
