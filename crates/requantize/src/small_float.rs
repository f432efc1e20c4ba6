//! Small floats are formats with a few bits of exponent and mantissa. This module computes the largest number of a
//! format, and rounds numbers to a format.
//!
//! A number has e bits of exponent with the field value E, and m bits of mantissa with the field value M. With b =
//! 2^(e−1) − 1, its value is 2^(E − b)·(1 + M·2^−m), or 2^(1 − b)·M·2^−m if E = 0.
//!
//! **Source**: In the formats with 6 bits and fewer, every code is a number (OCP Microscaling Formats, version 1.0:
//! e2m1, e2m3, e3m2). In e4m3 the last code is NaN (OCP 8-bit Floating Point, version 1.0: numbers up to 448). In all
//! other formats, codes in which all bits of E are set are not numbers, as in IEEE 754 (e5m2, e5m10, e8m7).

use crate::Rounding;

/// The largest number of the format.
pub fn largest(exponent: u8, mantissa: u8) -> f64 {
    let (top, bias) = ((1i32 << exponent) - 1, bias(exponent));
    let ones = 2.0 - power(-i32::from(mantissa));
    match (exponent, mantissa) {
        (4, 3) => (ones - power(-3)) * power(top - bias),
        _ if exponent + mantissa < 6 => ones * power(top - bias),
        // With one bit of exponent, only codes with E = 0 are numbers.
        (1, _) => (ones - 1.0) * power(1 - bias),
        _ => ones * power(top - 1 - bias),
    }
}

/// Rounds a real number to the format. `rounding` decides how ties are rounded. A number beyond the largest number
/// saturates, and NaN becomes 0.
///
/// The exponent must have at most 8 bits and the mantissa at most 10, so that every number of the format is an f32.
pub fn round(x: f64, exponent: u8, mantissa: u8, rounding: Rounding) -> f64 {
    if x.is_nan() {
        return 0.0;
    }
    let largest = largest(exponent, mantissa);
    if x.abs() >= 2.0 * largest {
        return largest.copysign(x);
    }
    // The exponent of x. If x is subnormal in the format, the format's smallest exponent is used.
    let own = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let step = power(own.max(1 - bias(exponent)) - i32::from(mantissa));
    (rounding.round_f64(x / step) * step).clamp(-largest, largest)
}

fn bias(exponent: u8) -> i32 {
    (1 << (exponent - 1)) - 1
}

/// 2^n, if f64 has normal numbers with exponent n.
pub(crate) fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists all numbers of a format that are not negative, computed from their codes. The flag of a number is true if
    /// its mantissa is even.
    fn all(exponent: u8, mantissa: u8) -> Vec<(f64, bool)> {
        let (e, m) = (i32::from(exponent), i32::from(mantissa));
        let bias = 2f64.powi(e - 1) as i32 - 1;
        let mut found = Vec::new();
        for field in 0..1 << e {
            for fraction in 0..1 << m {
                let last = field == (1 << e) - 1;
                let number = match (e, m) {
                    (4, 3) => !last || fraction < 7,
                    _ => !last || e + m <= 5,
                };
                let value = match field {
                    0 => 2f64.powi(1 - bias - m) * f64::from(fraction),
                    _ => 2f64.powi(field - bias - m) * f64::from((1 << m) + fraction),
                };
                if number {
                    found.push((value, fraction % 2 == 0));
                }
            }
        }
        found
    }

    #[test]
    fn the_largest_numbers_are_those_of_the_standards() {
        for (exponent, mantissa, expected) in [
            (4, 3, 448.0),
            (5, 2, 57_344.0),
            (2, 1, 6.0),
            (2, 3, 7.5),
            (3, 2, 28.0),
            (5, 10, 65_504.0),
            (8, 7, 3.389_531_389_251_535_5e38),
        ] {
            assert_eq!(largest(exponent, mantissa), expected);
        }
        for exponent in 1..=6 {
            for mantissa in 0..=6 {
                let last = all(exponent, mantissa).last().map(|(value, _)| *value);
                assert_eq!(Some(largest(exponent, mantissa)), last, "e{exponent}m{mantissa}");
            }
        }
    }

    #[test]
    fn rounding_is_that_of_a_table_of_all_numbers() {
        for (exponent, mantissa) in [(4, 3), (5, 2), (2, 1), (2, 3), (3, 2), (1, 4), (3, 0), (4, 6)] {
            let table = all(exponent, mantissa);
            let end = table[table.len() - 1].0;
            // The points are all numbers, the middles between neighbours, points just beside these, and points past the end.
            let mut points: Vec<f64> = table.iter().map(|(value, _)| *value).collect();
            points.extend(table.windows(2).map(|pair| (pair[0].0 + pair[1].0) / 2.0));
            points.extend([1.01 * end, 1.9 * end, 1e30, f64::INFINITY, 1e-40]);
            let beside: Vec<f64> = points
                .iter()
                .flat_map(|x| [x * (1.0 - 1e-9), x * (1.0 + 1e-9)])
                .collect();
            for x in points.into_iter().chain(beside) {
                let distance = |value: f64| (value - x).abs();
                let least = table
                    .iter()
                    .map(|(value, _)| distance(*value))
                    .fold(f64::INFINITY, f64::min);
                let near: Vec<_> = table.iter().filter(|(value, _)| distance(*value) == least).collect();
                let expected = match near[..] {
                    _ if x >= end => end,
                    [one] => one.0,
                    [below, above] if mantissa > 0 => {
                        if below.1 {
                            below.0
                        } else {
                            above.0
                        }
                    }
                    // Formats without a mantissa are left out: there, the even neighbour is the one that is an even multiple of its
                    // step.
                    _ => continue,
                };
                let found = round(x, exponent, mantissa, Rounding::HalfEven);
                assert_eq!(found, expected, "{x} in e{exponent}m{mantissa}");
                assert_eq!(round(-x, exponent, mantissa, Rounding::HalfEven), -expected);
                let below = table
                    .iter()
                    .rev()
                    .find(|(value, _)| *value <= x)
                    .map(|(value, _)| *value);
                assert_eq!(Some(round(x, exponent, mantissa, Rounding::Floor)), below, "{x} down");
            }
        }
        assert_eq!(round(f64::NAN, 4, 3, Rounding::HalfEven), 0.0);
    }
}
