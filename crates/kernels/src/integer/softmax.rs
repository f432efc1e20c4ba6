//! Softmax of codes.

use super::bytes::{Code, flip, origin, width};
use super::lookup::look_up;
use crate::context::Context;
use crate::simd::{Job, Simd};
use crate::{
    error::{KernelError, expect_len, product},
    parallel::for_each_chunk,
};
use strait_requantize::IntType;
use strait_requantize::function::{Divisor, Softmax, SoftmaxRows};

/// Number of elements that a task computes if rows are shorter than that.
const PIECE: usize = 1 << 12;

/// A softmax of rows of codes, ready to run. It has a table with the exponential of each possible difference of two
/// codes.
#[derive(Clone, Debug)]
pub struct IntegerSoftmax {
    rows: SoftmaxRows,
    element: IntType,
    longest_row: usize,
    /// The exponentials of the differences 0, −1, −2, … For differences beyond the end of the table, the last entry is
    /// used.
    exponentials: Vec<i32>,
    /// For 8-bit codes, the part of the sum that comes from each of 256 differences.
    addends: Option<Box<[i32; 256]>>,
}

impl IntegerSoftmax {
    /// Prepares the tables that a softmax needs.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if the parameters of the softmax are not legal.
    pub fn new(softmax: &Softmax) -> Result<IntegerSoftmax, KernelError> {
        let rows = softmax.rows().map_err(|error| KernelError::Shape(error.to_string()))?;
        let element = softmax.elements();
        let most = if width(element) == 1 { 255 } else { u16::MAX };
        let mut exponentials: Vec<i32> = (0..=most).map(|distance| rows.exponential(distance)).collect();
        while let [.., before, last] = exponentials[..]
            && before == last
        {
            exponentials.pop();
        }
        let addends = (width(element) == 1).then(|| {
            let addend = |distance: usize| rows.addend(exponentials[distance.min(exponentials.len() - 1)]);
            Box::new(std::array::from_fn(addend))
        });
        Ok(IntegerSoftmax {
            addends,
            rows,
            element,
            longest_row: softmax.longest_row(),
            exponentials,
        })
    }

    /// Computes the softmax over the middle axis of `[outer, axis, inner]`. Input and output are codes of the types
    /// that the definition of the softmax names.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if a slice does not have these extents, or if rows are longer than the definition allows.
    pub fn run(
        &self,
        cx: &Context,
        [outer, axis, inner]: [usize; 3],
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let width = width(self.element);
        let bytes = product(&[outer, axis, inner, width]);
        expect_len("the input", input.len(), bytes)?;
        expect_len("the output", out.len(), bytes)?;
        if out.is_empty() {
            return Ok(());
        }
        if axis > self.longest_row {
            let text = format!("a row has {axis} codes; {} are the most", self.longest_row);
            return Err(KernelError::Shape(text));
        }
        let block = axis * inner;
        let piece = PIECE.div_ceil(block) * block * width;
        // A result takes as long as about eight multiply-adds.
        for_each_chunk(out, piece, input.len().saturating_mul(8), |i, out| {
            let input = &input[i * piece..];
            if let (Some(addends), 1) = (&self.addends, inner) {
                let rows = out.chunks_exact_mut(block).zip(input.chunks_exact(block));
                return rows.for_each(|(out, input)| self.row(*cx, addends, input, out));
            }
            for (out, input) in out.chunks_mut(block * width).zip(input.chunks(block * width)) {
                match width {
                    1 => self.block::<[u8; 1]>(inner, input, out),
                    _ => self.block::<[u8; 2]>(inner, input, out),
                }
            }
        });
        Ok(())
    }

    /// Computes a row of 8-bit codes. A row has few different results: one for each distance from the largest code. So
    /// their table is made first, and the row is looked up in it.
    fn row(&self, cx: Context, addends: &[i32; 256], input: &[u8], out: &mut [u8]) {
        let flip = flip(self.element);
        let (largest, sum) = cx.run(Sum { addends, flip, input });
        let table = cx.run(Shares {
            exponentials: &self.exponentials,
            by: self.rows.divisor(sum),
            largest: usize::from(largest),
            flip: usize::from(flip),
        });
        look_up(cx, &table, input, out);
    }

    /// Computes `inner` rows whose elements are interleaved in memory.
    fn block<T: Code>(&self, inner: usize, input: &[u8], out: &mut [u8]) {
        let (codes, out) = (T::codes(input), T::codes_mut(out));
        for first in 0..inner {
            let row = || {
                codes[first..]
                    .iter()
                    .step_by(inner)
                    .map(|code| code.above(self.element))
            };
            let largest = row().max().unwrap_or(0);
            let exponential = |code: u32| {
                let distance = ((largest - code) as usize).min(self.exponentials.len() - 1);
                self.exponentials[distance]
            };
            let sum = row().map(|code| self.rows.addend(exponential(code))).sum();
            let divisor = self.rows.divisor(sum);
            for (result, code) in out[first..].iter_mut().step_by(inner).zip(row()) {
                let code = self.rows.share(exponential(code), divisor);
                *result = T::new(self.element, (code - origin(self.element)) as u32);
            }
        }
    }
}

/// A job that finds the largest code of a row, above the type's origin, and the sum of the addends of all its codes.
struct Sum<'a> {
    addends: &'a [i32; 256],
    flip: u8,
    input: &'a [u8],
}

impl Job for Sum<'_> {
    type Output = (u8, i32);

    #[inline(always)]
    fn run<S: Simd>(self) -> (u8, i32) {
        let mut largest = 0;
        for code in self.input {
            largest = (code ^ self.flip).max(largest);
        }
        let mut sum = 0;
        for code in self.input {
            sum += self.addends[usize::from(largest.wrapping_sub(code ^ self.flip))];
        }
        (largest, sum)
    }
}

/// A job that computes the share of each 8-bit code in a row, as bytes. The codes are those up to the largest one of
/// the row; the entries of other codes have no meaning. Exponentials beyond the end of the list are equal to the last
/// one.
struct Shares<'a> {
    exponentials: &'a [i32],
    by: Divisor,
    /// The largest code of the row, above the type's origin.
    largest: usize,
    flip: usize,
}

impl Job for Shares<'_> {
    type Output = [u8; 256];

    /// Computes y = half_away(half_up(e·r / 2³¹) / 2^s) − 128, saturated. No number here is negative before 128 is
    /// subtracted, so both roundings add one half.
    #[inline(always)]
    fn run<S: Simd>(self) -> [u8; 256] {
        let (reciprocal, shift) = self.by.parts();
        let (reciprocal, half) = (i64::from(reciprocal), 1_i64 << (shift - 1));
        let share = |exponential: i32| {
            let product = (i64::from(exponential) * reciprocal + (1 << 30)) >> 31;
            (((product + half) >> shift).min(255) as u8) ^ 0x80
        };
        // The share of the code at each distance from the largest one.
        let mut shares = [0; 256];
        for (share_of, &exponential) in shares.iter_mut().zip(self.exponentials) {
            *share_of = share(exponential);
        }
        if let (Some(rest), Some(&last)) = (shares.get_mut(self.exponentials.len()..), self.exponentials.last()) {
            rest.fill(share(last));
        }
        let mut table = [0; 256];
        for (code, &share) in shares[..=self.largest].iter().rev().enumerate() {
            table[code ^ self.flip] = share;
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    /// Computes each row by the definition of the function.
    fn defined(softmax: &Softmax, [outer, axis, inner]: [usize; 3], codes: &[i32]) -> Vec<i32> {
        let rows = softmax.rows().unwrap();
        let mut out = vec![0; codes.len()];
        for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
            let at = |k: usize| (o * axis + k) * inner + i;
            let row: Vec<i32> = (0..axis).map(|k| codes[at(k)]).collect();
            let mut results = vec![0; axis];
            rows.eval(&row, &mut results).unwrap();
            (0..axis).for_each(|k| out[at(k)] = results[k]);
        }
        out
    }

    #[test]
    fn each_row_is_what_the_definition_makes_of_it() {
        let mut seed = 7u32;
        for softmax in [
            Softmax::litert_int8(0.05, 1.0),
            Softmax::litert_int8(3e-7, 0.5),
            Softmax::litert_int8(100.0, 1.0),
            Softmax::litert_int16(0.0003, 1.0),
            Softmax::litert_int16(1e-9, 1.0),
            Softmax::litert_int16(4.9, 1.0),
        ] {
            let softmax = softmax.unwrap();
            let kernel = IntegerSoftmax::new(&softmax).unwrap();
            for extents in [[3, 10, 1], [2, 7, 5], [1, 511, 2], [40, 300, 1], [1, 1, 1], [0, 3, 1]] {
                let codes: Vec<i32> = (0..extents.iter().product())
                    .map(|_| {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (seed >> 8) as i32 % 65_536 - 32_768
                    })
                    .map(|code| {
                        if softmax.elements() == IntType::I8 {
                            code >> 8
                        } else {
                            code
                        }
                    })
                    .collect();
                let bytes = |codes: &[i32]| -> Vec<u8> {
                    match softmax.elements() {
                        IntType::I8 => codes.iter().map(|&code| code as u8).collect(),
                        _ => codes.iter().flat_map(|&code| (code as i16).to_ne_bytes()).collect(),
                    }
                };
                let input = bytes(&codes);
                let mut out = vec![0; input.len()];
                let expected = bytes(&defined(&softmax, extents, &codes));
                for isa in Isa::available() {
                    kernel.run(&Context::with_isa(isa), extents, &input, &mut out).unwrap();
                    assert_eq!(out, expected, "{softmax:?} {extents:?} {isa:?}");
                }
            }
        }
    }

    #[test]
    fn rows_longer_than_defined_are_refused() {
        let kernel = IntegerSoftmax::new(&Softmax::litert_int8(0.05, 1.0).unwrap()).unwrap();
        let (input, mut out) = ([0; 512], [0; 512]);
        for extents in [[1, 512, 1], [1, 10, 1]] {
            let refused = kernel.run(&Context::detect(), extents, &input, &mut out);
            assert!(matches!(refused, Err(KernelError::Shape(_))));
        }
    }
}
