//! Layer normalization of rows of codes.

use super::{Definition, FunctionError, code_of, in_range};
use crate::{
    IntType,
    scales::{ScaleError, positive},
};

/// A layer normalization with its parameters (`strait.layer_norm.v1`). The function is defined for a row of n codes x
/// with the scale s, and for codes g of the gain and b of the bias at each position of the row:
///
/// - S = Σx and V = n·Σx² − S², exactly. S is n times the mean, and V is n² times the variance.
/// - W = 2¹⁶·V + `epsilon`, W' = ⌊W·4^q⌋ with the q for which 2⁶² ≤ W' < 2⁶⁴, and m = ⌊2⁶³ / √W'⌋, which is the
///   reciprocal of the standard deviation times a power of two.
/// - N = half_up((n·x − S)·m / 2^(33 − q)), which is the normalized number with 22 fractional bits. It is 0 if W is 0.
/// - y = sat(half_up((N·g·`multiplier` + b·`bias_multiplier`) / 2^`shift`) + `zero_point`).
///
/// The number for which N stands is within 2⁻²² of the real one, so y is the nearest code except very close to a tie.
/// The operand's zero point does not matter: it cancels out when the mean is subtracted.
///
/// If `centred` is false, S is 0, and the function is an RMS normalization (`strait.rms_norm.v1`). V is then n² times
/// the mean square, and the operand's zero point is 0.
///
/// Domain: rows of 1 ..= 32,768 codes of one type with at most 16 bits, int16 gains, and any 64-bit biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerNorm {
    /// True if the mean is subtracted.
    pub centred: bool,
    /// The number that is added to the variance, in units of 2⁻¹⁶·(s/n)², with the operand's scale s and the row's
    /// length n.
    pub epsilon: i64,
    /// The factor of the gains, with 31 bits.
    pub multiplier: i32,
    /// The factor of the biases. The scale of a bias is the product of the operand's scale and the gains' scale.
    pub bias_multiplier: i64,
    /// The right shift after the products with `multiplier` and `bias_multiplier`.
    pub shift: u8,
    /// The zero point of the result.
    pub zero_point: i32,
    /// The type of the result.
    pub result: IntType,
}

/// Scales and zero points of the operand, the gains and the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormScales {
    /// The scale of the operand.
    pub input: f32,
    /// The scale of the gains.
    pub gain: f32,
    /// Scale and zero point of the result.
    pub output: (f32, i32),
    /// The type of the result.
    pub result: IntType,
}

/// The mean (or 0) and the reciprocal of the deviation of a row of codes, as integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    length: i64,
    sum: i64,
    reciprocal: i64,
    shift: u8,
}

/// W has this many more fractional bits than n²·variance.
const EPSILON_BITS: i32 = 16;

/// The number of fractional bits of a normalised number.
const FRACTION: i32 = 22;

impl LayerNorm {
    /// The largest number of codes in a row. With it, n·x stays below 2³¹, and n·Σx² below 2⁶³.
    pub const LONGEST_ROW: usize = 1 << 15;

    /// The name of the definition.
    pub fn definition(&self) -> Definition {
        definition(self.centred)
    }

    /// Derives the parameters of a layer normalization from scales, or those of an RMS normalization if `centred` is
    /// false. Let n be `length`, the number of codes in a row, ε the argument `epsilon`, and s, g and s' the scales of
    /// the operand, the gain and the result. The bias has the scale s·g. Each parameter is computed in f64 and rounded:
    ///
    /// - `epsilon` = ε·n²·2¹⁶ / s²
    /// - `multiplier` = g / s' · 2^(`shift` − 22), where the shift is chosen so that `multiplier` has 31 bits
    /// - `bias_multiplier` = s·g / s' · 2^`shift`
    ///
    /// # Errors
    /// - [`FunctionError::Row`] if the length is not supported
    /// - [`FunctionError::Scale`] if a scale is not finite and positive, or ε is negative or not finite
    /// - [`FunctionError::Factor`] if s is not in 2⁻²⁸ … 2⁹, if g / s' is not in 2⁻⁴⁶ … 2⁵¹, or if ε·n²/s² is above 2⁴⁶
    pub fn of(centred: bool, length: usize, epsilon: f32, scales: LayerNormScales) -> Result<LayerNorm, FunctionError> {
        let definition = definition(centred);
        row(definition, length)?;
        let refused = |source: ScaleError| FunctionError::Scale { definition, source };
        let scale = |what, scale: f32| positive(what, scale.into()).map_err(refused);
        let (input, gain) = (scale("input scale", scales.input)?, scale("gain scale", scales.gain)?);
        let output = scale("output scale", scales.output.0)?;
        let epsilon = match epsilon {
            0.0 => 0.0,
            _ => scale("epsilon", epsilon)?,
        };
        let within = |what, value: f64, above: i32, most: i32| {
            let (above, most) = (f64::from(above).exp2(), f64::from(most).exp2());
            match value > above && value <= most {
                true => Ok(value),
                false => Err(FunctionError::Factor {
                    definition,
                    what,
                    value,
                    above,
                    most,
                }),
            }
        };
        within("input scale", input, -28, 9)?;
        let factor = within("gain scale / output scale", gain / output, -46, 51)?;
        let n = length as f64;
        let epsilon = epsilon * (n * n) / (input * input);
        if epsilon > 0.0 {
            within("epsilon * n^2 / input scale^2", epsilon, -1100, 46)?;
        }
        // The mantissa is in [2^30, 2^31). The power of two comes from the bits of the float, so it is exact.
        let exponent = ((factor.to_bits() >> 52) & 0x7ff) as i32 - 1022;
        let scaled = |value: f64, by: i32| (value * power(by)).round();
        let (mut multiplier, mut shift) = (scaled(factor, 31 - exponent), 31 - exponent);
        if multiplier >= 2f64.powi(31) {
            (multiplier, shift) = (multiplier / 2.0, shift - 1);
        }
        let norm = LayerNorm {
            centred,
            epsilon: scaled(epsilon, EPSILON_BITS) as i64,
            multiplier: multiplier as i32,
            bias_multiplier: scaled(input * gain / output, shift + FRACTION) as i64,
            shift: (shift + FRACTION) as u8,
            zero_point: scales.output.1,
            result: scales.result,
        };
        norm.check()?;
        Ok(norm)
    }

    /// Checks that the parameters are legal.
    ///
    /// # Errors
    /// [`FunctionError::Parameter`] if a parameter is not in its range; [`FunctionError::Elements`] if the results have
    /// more than 16 bits; [`FunctionError::Code`] if the zero point is not in the range of the result's type.
    pub fn check(&self) -> Result<(), FunctionError> {
        let definition = self.definition();
        in_range(definition, "epsilon", self.epsilon, 0..=1 << 62)?;
        in_range(definition, "multiplier", self.multiplier, 1 << 30..=i32::MAX.into())?;
        in_range(definition, "bias_multiplier", self.bias_multiplier, 0..=1 << 62)?;
        in_range(definition, "shift", self.shift, 1..=100)?;
        elements(definition, self.result)?;
        code_of(definition, self.result, self.zero_point)
    }

    /// Computes the results for a row of codes of the type `from`, in the order of the codes. Without biases, a bias of
    /// 0 is added.
    ///
    /// # Errors
    /// Errors of [`LayerNorm::check`]; [`FunctionError::Elements`] if the type has more than 16 bits;
    /// [`FunctionError::Row`]; [`FunctionError::Lengths`]; [`FunctionError::Code`]. In these cases, nothing is written
    /// to the results.
    pub fn eval(
        &self,
        from: IntType,
        codes: &[i32],
        gains: &[i16],
        biases: Option<&[i64]>,
        results: &mut [i32],
    ) -> Result<(), FunctionError> {
        self.check()?;
        let definition = self.definition();
        row(definition, codes.len())?;
        for length in [gains.len(), biases.map_or(codes.len(), <[i64]>::len), results.len()] {
            if length != codes.len() {
                return Err(FunctionError::Lengths {
                    definition,
                    codes: codes.len(),
                    results: length,
                });
            }
        }
        elements(definition, from)?;
        codes.iter().try_for_each(|&code| code_of(definition, from, code))?;
        let wide = || codes.iter().map(|&code| i64::from(code));
        let moments = self.moments(codes.len(), wide().sum(), wide().map(|code| code * code).sum());
        for (at, (result, code)) in results.iter_mut().zip(codes).enumerate() {
            let bias = biases.map_or(0, |biases| biases[at]);
            *result = self.result(moments.normalized(*code), gains[at], bias);
        }
        Ok(())
    }

    /// Computes the mean and the reciprocal of the standard deviation of a row of `length` codes (1 ..=
    /// [`LayerNorm::LONGEST_ROW`]) from `sum`, the sum of the codes, and `squares`, the sum of their squares.
    pub fn moments(&self, length: usize, sum: i64, squares: i64) -> Moments {
        let n = length as i64;
        let sum = if self.centred { sum } else { 0 };
        let variance = (n * squares - sum * sum).unsigned_abs();
        let w = (u128::from(variance) << EPSILON_BITS) + u128::from(self.epsilon.unsigned_abs());
        if w == 0 {
            // All codes are equal, so all differences from the mean are 0 too.
            return Moments {
                length: n,
                sum,
                reciprocal: 0,
                shift: 1,
            };
        }
        // Twice the q in the definition, with which W·2^(2q) has 63 or 64 bits.
        let twice = (w.leading_zeros() as i32 - 64).div_euclid(2) * 2;
        let near = if twice >= 0 { w << twice } else { w >> -twice };
        Moments {
            length: n,
            sum,
            // 2^126 / W' is at most 2^64, and its root at most 2^32.
            reciprocal: ((1u128 << 126) / near).isqrt() as i64,
            shift: (33 - twice / 2) as u8,
        }
    }

    /// The code of a normalised number after its gain and its bias were applied.
    pub fn result(&self, normalized: i32, gain: i16, bias: i64) -> i32 {
        let factor = i64::from(self.multiplier) * i64::from(gain);
        let product = i128::from(normalized) * i128::from(factor);
        let sum = product + i128::from(bias) * i128::from(self.bias_multiplier);
        let code = half_up(sum, self.shift) + i128::from(self.zero_point);
        code.clamp(self.result.min().into(), self.result.max().into()) as i32
    }
}

impl Moments {
    /// The length n of the row, the sum S, the reciprocal m and the shift 33 − q, with which a code x becomes
    /// half_up((n·x − S)·m / 2^shift).
    pub fn parts(self) -> ([i64; 3], u8) {
        ([self.length, self.sum, self.reciprocal], self.shift)
    }

    /// The code minus the mean, divided by the deviation, with 22 fractional bits.
    pub fn normalized(&self, code: i32) -> i32 {
        // The difference has 31 bits and the reciprocal has 33 bits, so there is room to add one half to their product.
        let product = (self.length * i64::from(code) - self.sum) * self.reciprocal;
        ((product + (1 << (self.shift - 1))) >> self.shift) as i32
    }
}

impl Definition {
    /// True if the definition normalizes rows, so that its parameters are a [`LayerNorm`].
    pub fn normalizes(self) -> bool {
        matches!(self, Definition::LayerNorm | Definition::RmsNorm)
    }
}

fn definition(centred: bool) -> Definition {
    match centred {
        true => Definition::LayerNorm,
        false => Definition::RmsNorm,
    }
}

fn row(definition: Definition, length: usize) -> Result<(), FunctionError> {
    match (1..=LayerNorm::LONGEST_ROW).contains(&length) {
        true => Ok(()),
        false => Err(FunctionError::Row {
            definition,
            length,
            most: LayerNorm::LONGEST_ROW,
        }),
    }
}

/// Checks that a type of codes has at most 16 bits.
fn elements(definition: Definition, elements: IntType) -> Result<(), FunctionError> {
    match elements.bits() <= 16 {
        true => Ok(()),
        false => Err(FunctionError::Elements { definition, elements }),
    }
}

fn half_up(x: i128, shift: u8) -> i128 {
    (x + (1 << (shift - 1))) >> shift
}

/// 2^n, exactly, if n is the exponent of a normal number.
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}
