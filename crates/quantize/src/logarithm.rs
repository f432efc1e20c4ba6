//! A logarithm that is the same on every machine.

/// 1/1, 1/3, 1/5 and so on. There is no call and no loop with divisions where a logarithm is computed.
const SERIES: [f64; 11] = {
    let mut series = [1.0; 11];
    let mut k = 1;
    while k < series.len() {
        series[k] = 1.0 / (2 * k + 1) as f64;
        k += 1;
    }
    series
};

/// Returns ln x for a positive normal number x. With x = m·2^e, m in [√½, √2) and t = (m − 1)/(m + 1), it is e·ln 2 +
/// 2·(t + t³/3 + t⁵/5 + …). This computation only uses operations that give the same result on every machine. The
/// logarithm functions of C libraries differ.
pub(crate) fn ln(x: f64) -> f64 {
    /// The bits of √½, and the number of bits of a fraction.
    const LEAST: i64 = std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64;
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    // The exponent goes up by one where the bits of x reach those of √½·2^e. No branch depends on x, because a processor
    // could not foresee it.
    let bits = x.to_bits() as i64;
    let exponent = (bits - LEAST) >> FRACTION;
    let m = f64::from_bits((bits - (exponent << FRACTION)) as u64);
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    // |t| is below 0.172, so the first term that is left out of the series is below 2^−53.
    let series = SERIES.iter().rev().fold(0.0, |sum, term| sum * square + term);
    f64::from(exponent as i32) * std::f64::consts::LN_2 + 2.0 * t * series
}
