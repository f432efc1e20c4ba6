//! Softmax of codes.

use super::bytes::{Code, origin, width};
use crate::context::Context;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::for_each_chunk,
};
use strait_requantize::IntType;
use strait_requantize::function::{Softmax, SoftmaxRows};

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
        Ok(IntegerSoftmax {
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
        _: &Context,
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
            for (out, input) in out.chunks_mut(block * width).zip(input.chunks(block * width)) {
                match width {
                    1 => self.block::<[u8; 1]>(inner, input, out),
                    _ => self.block::<[u8; 2]>(inner, input, out),
                }
            }
        });
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

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
                kernel.run(&Context::detect(), extents, &input, &mut out).unwrap();
                assert_eq!(
                    out,
                    bytes(&defined(&softmax, extents, &codes)),
                    "{softmax:?} {extents:?}"
                );
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
