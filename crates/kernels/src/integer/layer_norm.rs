//! Layer normalization of codes.

use super::bytes::{Code, check_codes, origin, widen, width};
use crate::context::Context;
use crate::simd::{Job, Simd};
use crate::{
    error::{KernelError, expect_len},
    parallel::for_each_chunk,
};
use strait_requantize::IntType;
use strait_requantize::function::{LayerNorm, Moments};

/// Number of elements that a task computes if rows are shorter than that.
const PIECE: usize = 1 << 12;

/// A layer normalization of rows of contiguous codes, ready to run. Each position of a row has a gain and a bias.
#[derive(Clone, Debug)]
pub struct IntegerLayerNorm {
    norm: LayerNorm,
    from: IntType,
    gains: Vec<i16>,
    biases: Vec<i64>,
    /// The lines on which results lie, one for each position. `None` if f64 is too narrow for them.
    lines: Option<Vec<Line>>,
}

/// A result is ⌊slope·N + offset⌋, saturated, where N is the normalized number.
#[derive(Clone, Copy, Debug)]
struct Line {
    slope: f64,
    offset: f64,
}

/// If |slope|·2³¹ + |offset| is at most this, the error of slope·N + offset is below `CLOSE`: two constants and two
/// operations are rounded, each with a relative error of 2⁻⁵³.
const LARGEST: f64 = (1_u64 << 33) as f64;

/// If slope·N + offset is closer than this to an integer, the result is computed by the definition.
const CLOSE: f64 = 1.0 / (1 << 16) as f64;

/// Returns the line on which results with this gain and this bias lie. `None` if f64 is too narrow.
fn line(norm: &LayerNorm, gain: i16, bias: i64) -> Option<Line> {
    // 2^-shift, exactly. The shift is at most 100.
    let scale = f64::from_bits(u64::from(1023 - u16::from(norm.shift)) << 52);
    let factor = i64::from(norm.multiplier) * i64::from(gain);
    let constant = i128::from(bias) * i128::from(norm.bias_multiplier);
    // The factor has 47 bits, so only the constant is rounded.
    let slope = factor as f64 * scale;
    let offset = constant as f64 * scale + (f64::from(norm.zero_point) + 0.5);
    (slope.abs() * (1_u64 << 31) as f64 + offset.abs() <= LARGEST).then_some(Line { slope, offset })
}

impl IntegerLayerNorm {
    /// Prepares a layer normalization for codes of type `from`. A row has as many elements as there are gains. If
    /// `biases` is absent, all biases are 0.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if the parameters are not legal, if codes have more than 16 bits, if rows are longer than
    /// the definition allows, or if the numbers of biases and gains differ.
    pub fn new(
        norm: &LayerNorm,
        from: IntType,
        gains: Vec<i16>,
        biases: Option<Vec<i64>>,
    ) -> Result<IntegerLayerNorm, KernelError> {
        norm.check().map_err(|error| KernelError::Shape(error.to_string()))?;
        check_codes("the operand", from)?;
        if !(1..=LayerNorm::LONGEST_ROW).contains(&gains.len()) {
            let most = LayerNorm::LONGEST_ROW;
            return Err(KernelError::Shape(format!(
                "a row has {} codes; {most} are the most",
                gains.len()
            )));
        }
        let biases = biases.unwrap_or_else(|| vec![0; gains.len()]);
        expect_len("the biases", biases.len(), Some(gains.len()))?;
        let positions = gains.iter().zip(&biases);
        let lines = positions.map(|(&gain, &bias)| line(norm, gain, bias)).collect();
        Ok(IntegerLayerNorm {
            lines,
            norm: *norm,
            from,
            gains,
            biases,
        })
    }

    /// Normalizes all rows of the input.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if the input does not consist of whole rows, or the output does not have the same number
    /// of rows.
    pub fn run(&self, cx: &Context, input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
        let row = self.gains.len();
        let (read, written) = (row * width(self.from), row * width(self.norm.result));
        let rows = input.len() / read;
        expect_len("the input", input.len(), Some(rows * read))?;
        expect_len("the output", out.len(), Some(rows * written))?;
        let piece = PIECE.div_ceil(row);
        // A result takes as long as about eight multiply-adds.
        for_each_chunk(out, piece * written, (rows * row).saturating_mul(8), |i, out| {
            let (mut codes, mut normalized) = (vec![0; row], vec![0; row]);
            let input = input[i * piece * read..].chunks(read);
            for (out, input) in out.chunks_mut(written).zip(input) {
                widen(self.from, input, &mut codes);
                match width(self.norm.result) {
                    1 => self.row::<[u8; 1]>(*cx, &codes, &mut normalized, out),
                    _ => self.row::<[u8; 2]>(*cx, &codes, &mut normalized, out),
                }
            }
        });
        Ok(())
    }

    /// Computes a row. `normalized` is room for the normalized numbers of a row.
    fn row<T: Code>(&self, cx: Context, codes: &[i32], normalized: &mut [i32], out: &mut [u8]) {
        let (sum, squares) = cx.run(Sums(codes));
        let moments = self.norm.moments(codes.len(), sum, squares);
        let out = T::codes_mut(out);
        cx.run(Normalize {
            codes,
            moments,
            normalized,
        });
        let exact = |at: usize| {
            let code = self.norm.result(normalized[at], self.gains[at], self.biases[at]);
            T::new(self.norm.result, (code - origin(self.norm.result)) as u32)
        };
        let close = self.lines.as_ref().is_none_or(|lines| {
            cx.run(OnLines {
                result: self.norm.result,
                normalized,
                lines,
                out,
            })
        });
        if close {
            for (at, result) in out.iter_mut().enumerate() {
                if self.lines.as_ref().is_none_or(|lines| lines[at].at(normalized[at]).1) {
                    *result = exact(at);
                }
            }
        }
    }
}

impl Line {
    /// The result for a normalized number before it is saturated, and whether it has to be computed by the definition.
    #[inline(always)]
    fn at(self, normalized: i32) -> (f64, bool) {
        let y = self.slope * f64::from(normalized) + self.offset;
        let below = y.floor();
        (below, (y - below - 0.5).abs() > 0.5 - CLOSE)
    }
}

/// A job that computes the sum of codes and the sum of their squares.
struct Sums<'a>(&'a [i32]);

impl Job for Sums<'_> {
    type Output = (i64, i64);

    #[inline(always)]
    fn run<S: Simd>(self) -> (i64, i64) {
        let (mut sum, mut squares) = (0, 0);
        for &code in self.0 {
            let code = i64::from(code);
            sum += code;
            squares += code * code;
        }
        (sum, squares)
    }
}

/// A job that computes the normalized numbers of a row.
struct Normalize<'a> {
    codes: &'a [i32],
    moments: Moments,
    normalized: &'a mut [i32],
}

impl Job for Normalize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let ([length, sum, reciprocal], shift) = self.moments.parts();
        let half = 1 << (shift - 1);
        for (to, &code) in self.normalized.iter_mut().zip(self.codes) {
            *to = (((length * i64::from(code) - sum) * reciprocal + half) >> shift) as i32;
        }
    }
}

/// A job that computes results on their lines. It returns true if some results have to be computed by the definition.
struct OnLines<'a, T> {
    result: IntType,
    normalized: &'a [i32],
    lines: &'a [Line],
    out: &'a mut [T],
}

impl<T: Code> Job for OnLines<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self) -> bool {
        let [low, high] = [self.result.min(), self.result.max()].map(f64::from);
        let origin = origin(self.result);
        let mut any = false;
        for ((to, &normalized), line) in self.out.iter_mut().zip(self.normalized).zip(self.lines) {
            let (below, close) = line.at(normalized);
            any |= close;
            // SAFETY: the line is not above 2^34, so this is a number, and the clamp leaves codes of 16 bits.
            let code: i32 = unsafe { below.max(low).min(high).to_int_unchecked() };
            *to = T::new(self.result, (code - origin) as u32);
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use strait_requantize::function::LayerNormScales;

    const TYPES: [IntType; 6] = [
        IntType::I4,
        IntType::U4,
        IntType::I8,
        IntType::U8,
        IntType::I16,
        IntType::U16,
    ];

    fn bytes(element: IntType, codes: &[i32]) -> Vec<u8> {
        match width(element) {
            1 => codes.iter().map(|&code| code as u8).collect(),
            _ => codes.iter().flat_map(|&code| (code as u16).to_ne_bytes()).collect(),
        }
    }

    #[test]
    fn each_row_is_what_the_definition_makes_of_it() {
        let mut seed = 7u32;
        let mut random = move |low: i32, high: i32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            low + (seed >> 8) as i32 % (high - low + 1)
        };
        for (from, result) in TYPES.into_iter().flat_map(|from| TYPES.map(|result| (from, result))) {
            for (at, (rows, length)) in [(3, 64), (5, 1), (1, 5000), (90, 100), (0, 3), (4, 30)]
                .into_iter()
                .enumerate()
            {
                let gain = LayerNormScales {
                    input: 0.01,
                    gain: 1.0 / 16384.0,
                    output: (6.0 / f32::from(result.max() as u16), result.max() / 2),
                    result,
                };
                let norm = LayerNorm::of(at % 3 != 2, length, 1e-5, gain).unwrap();
                let codes: Vec<i32> = (0..rows * length).map(|_| random(from.min(), from.max())).collect();
                let gains: Vec<i16> = (0..length).map(|_| random(-32_768, 32_767) as i16).collect();
                let biases = (rows != 90).then(|| (0..length).map(|_| random(-90_000, 90_000).into()).collect());
                let kernel = IntegerLayerNorm::new(&norm, from, gains.clone(), biases.clone()).unwrap();
                let mut out = vec![0; codes.len() * width(result)];
                let mut defined = vec![0; codes.len()];
                for (row, out) in codes.chunks(length).zip(defined.chunks_mut(length)) {
                    norm.eval(from, row, &gains, biases.as_deref(), out).unwrap();
                }
                for isa in Isa::available() {
                    let cx = Context::with_isa(isa);
                    kernel.run(&cx, &bytes(from, &codes), &mut out).unwrap();
                    let wanted = bytes(result, &defined);
                    assert_eq!(out, wanted, "{from} to {result}, {rows} rows of {length}, {isa:?}");
                }
            }
        }
    }

    #[test]
    fn results_close_to_ties_and_beyond_f64_are_the_defined_ones() {
        // With these multipliers and biases, many sums are exact ties or one unit beside them, or do not fit in f64.
        for (multiplier, bias_multiplier, shift) in [(1 << 30, 1 << 29, 31), (1 << 30, 1, 30), (i32::MAX, 1 << 62, 95)]
        {
            let norm = LayerNorm {
                centred: true,
                epsilon: 3,
                multiplier,
                bias_multiplier,
                shift,
                zero_point: -3,
                result: IntType::I8,
            };
            let codes: Vec<i32> = (0..64).map(|at| at * 3 - 96).collect();
            let gains: Vec<i16> = (0..64).map(|at| at % 3 - 1).collect();
            let biases: Vec<i64> = (0..64).map(|at| at % 7 - 3).collect();
            let kernel = IntegerLayerNorm::new(&norm, IntType::I8, gains.clone(), Some(biases.clone())).unwrap();
            let mut defined = vec![0; 64];
            norm.eval(IntType::I8, &codes, &gains, Some(&biases), &mut defined)
                .unwrap();
            for isa in Isa::available() {
                let mut out = vec![0; 64];
                kernel
                    .run(&Context::with_isa(isa), &bytes(IntType::I8, &codes), &mut out)
                    .unwrap();
                assert_eq!(out, bytes(IntType::I8, &defined), "{multiplier} {shift} {isa:?}");
            }
        }
    }

    #[test]
    fn what_is_not_made_of_rows_is_refused() {
        let scales = LayerNormScales {
            input: 0.1,
            gain: 0.1,
            output: (0.1, 0),
            result: IntType::I8,
        };
        let norm = LayerNorm::of(true, 3, 1e-5, scales).unwrap();
        let new = |norm: &LayerNorm, from, gains: usize, biases: usize| {
            IntegerLayerNorm::new(norm, from, vec![1; gains], Some(vec![0; biases]))
        };
        assert!(new(&norm, IntType::I32, 3, 3).is_err());
        assert!(new(&norm, IntType::I8, 3, 2).is_err());
        assert!(new(&norm, IntType::I8, 0, 0).is_err());
        assert!(
            new(
                &norm,
                IntType::I8,
                LayerNorm::LONGEST_ROW + 1,
                LayerNorm::LONGEST_ROW + 1
            )
            .is_err()
        );
        let illegal = LayerNorm { multiplier: 1, ..norm };
        assert!(new(&illegal, IntType::I8, 3, 3).is_err());
        let kernel = new(&norm, IntType::I8, 3, 3).unwrap();
        for (read, written) in [(7, 7), (6, 3), (3, 6)] {
            let refused = kernel.run(&Context::detect(), &vec![0; read], &mut vec![0; written]);
            assert!(matches!(refused, Err(KernelError::Shape(_))), "{read} {written}");
        }
    }
}
