//! A logarithm that is the same on every machine.

use strait_requantize::scales::fixed_point::frexp;

/// Returns ln x for a positive number x. With x = m·2^e, m in [√½, √2) and t = (m − 1)/(m + 1), it is e·ln 2 + 2·(t +
/// t³/3 + t⁵/5 + …). This computation only uses operations that give the same result on every machine. The logarithm
/// functions of C libraries differ.
pub(crate) fn ln(x: f64) -> f64 {
    let (mut m, mut exponent) = frexp(x);
    if m < std::f64::consts::FRAC_1_SQRT_2 {
        (m, exponent) = (2.0 * m, exponent - 1);
    }
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    // |t| is below 0.172, so the first term that is left out of the series is below 2^−53.
    let series = (0..=10)
        .rev()
        .fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * t * series
}
