//! Represents real numbers precisely enough to decide how they are rounded. A number is a sum of f64 with a bounded
//! error, an exact quotient or an exact root.

use std::cmp::Ordering;

/// A real number that can be compared with an f64.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// `main + rest`. `main` is exact, and the error of `rest` is at most `error`.
    Near { main: f64, rest: f64, error: f64 },
    /// The sum of `terms`, divided by a positive number. It is exact.
    Quotient { terms: [f64; 4], divisor: f64 },
    /// The square root of a number that is not negative. It is exact.
    Root(f64),
}

impl Value {
    pub(super) fn exact(value: f64) -> Value {
        Value::sum([value, 0.0, 0.0, 0.0])
    }

    pub(super) fn sum(terms: [f64; 4]) -> Value {
        Value::Quotient { terms, divisor: 1.0 }
    }

    /// Makes a value from a main part and a rest. The relative error of the rest is below 10^-14 if it was computed
    /// with a few products and quotients that are each rounded once.
    pub(super) fn near(main: f64, rest: f64) -> Value {
        Value::Near {
            main,
            rest,
            error: rest.abs() * 2e-14,
        }
    }

    /// The f64 that is nearest to the value, or one of its two neighbours.
    pub(super) fn nearest(&self) -> f64 {
        match *self {
            Value::Near { main, rest, .. } => main + rest,
            Value::Quotient { terms, divisor } => terms.iter().sum::<f64>() / divisor,
            Value::Root(square) => square.sqrt(),
        }
    }

    /// Compares the value with a number. `None` if the bound of the error is too large to decide the comparison.
    pub(super) fn compare(&self, with: f64) -> Option<Ordering> {
        match *self {
            Value::Near { main, rest, error } => {
                let (high, low) = sum(main, -with);
                let tail = low + rest;
                let total = high + tail;
                // There are two additions, each with a relative error below 2^-52.
                let bound = error + (total.abs() + tail.abs()) * 2f64.powi(-51);
                (total.abs() > bound).then(|| total.total_cmp(&0.0))
            }
            Value::Quotient {
                terms: [a, b, c, d],
                divisor,
            } => {
                let (high, low) = product(divisor, with);
                Some(sign([a, b, c, d, -high, -low]))
            }
            Value::Root(_) if with < 0.0 => Some(Ordering::Greater),
            Value::Root(square) => {
                let (high, low) = product(with, with);
                Some(sign([square, -high, -low, 0.0, 0.0, 0.0]))
            }
        }
    }
}

/// A product as the sum of two f64. It is exact unless one of them is below the smallest f64.
pub(super) fn product(a: f64, b: f64) -> (f64, f64) {
    let high = a * b;
    (high, a.mul_add(b, -high))
}

/// The sum of a and b, represented exactly as the sum of two f64.
fn sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    let part = high - a;
    (high, (a - (high - part)) + (b - part))
}

/// Returns the sign of the sum of `terms`. The terms are replaced by terms with the same sum, each of which is smaller
/// than the last bit of the next one. The sign of the largest of these terms is then the sign of the sum.
pub(super) fn sign(terms: [f64; 6]) -> Ordering {
    let mut apart = [0.0; 6];
    for (count, mut rest) in terms.into_iter().enumerate() {
        for part in &mut apart[..count] {
            (rest, *part) = sum(rest, *part);
        }
        apart[count] = rest;
    }
    let largest = apart.into_iter().rev().find(|part| *part != 0.0);
    largest.map_or(Ordering::Equal, |part| part.total_cmp(&0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exact_is_compared_exactly() {
        // The sum differs from 1 by only 2^-60.
        let beside = Value::sum([1.0, 2f64.powi(-60), -1.0, 1.0]);
        assert_eq!(beside.compare(1.0), Some(Ordering::Greater));
        assert_eq!(Value::exact(1.0).compare(1.0 - 2f64.powi(-53)), Some(Ordering::Greater));
        // One third lies between two f64 and is equal to neither.
        let third = Value::Quotient {
            terms: [1.0, 0.0, 0.0, 0.0],
            divisor: 3.0,
        };
        let (below, above) = (1.0 / 3.0, (1.0f64 / 3.0).next_up());
        assert_eq!(
            [below, above].map(|with| third.compare(with)),
            [Some(Ordering::Greater), Some(Ordering::Less)]
        );
        assert_eq!(Value::Root(2.25).compare(1.5), Some(Ordering::Equal));
        let root = Value::Root(2.0);
        // The f64 that is nearest to √2 is above √2.
        let above = std::f64::consts::SQRT_2;
        assert_eq!(root.compare(above), Some(Ordering::Less));
        assert_eq!(
            [-1.0, above.next_down()].map(|with| root.compare(with)),
            [Some(Ordering::Greater); 2]
        );
    }

    #[test]
    fn signs_of_sums_are_those_of_integers() {
        // The terms are integers of 40 bits, shifted by up to 60 bits, and many of them cancel. Their sum in i128 is
        // exact.
        let mut state = 7u64;
        let mut draw = |bits: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> (64 - bits)) as i128
        };
        for _ in 0..20_000 {
            let mut integers = [0i128; 6];
            for at in 0..3 {
                let integer = (draw(40) - (1 << 39)) << draw(6).min(60);
                integers[2 * at] = integer;
                integers[2 * at + 1] = -integer - draw(2) + 1;
            }
            let expect = integers.iter().sum::<i128>().cmp(&0);
            // Integers that an f64 cannot hold exactly are left out.
            if integers.iter().all(|&i| i as f64 as i128 == i) {
                assert_eq!(sign(integers.map(|i| i as f64)), expect, "{integers:?}");
            }
        }
    }
}
