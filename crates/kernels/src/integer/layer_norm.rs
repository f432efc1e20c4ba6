//! Layer normalization of codes.

use super::bytes::{Code, check_codes, origin, widen, width};
use crate::context::Context;
use crate::{
    error::{KernelError, expect_len},
    parallel::for_each_chunk,
};
use strait_requantize::IntType;
use strait_requantize::function::LayerNorm;

/// Number of elements that a task computes if rows are shorter than that.
const PIECE: usize = 1 << 12;

/// A layer normalization of rows of contiguous codes, ready to run. Each position of a row has a gain and a bias.
#[derive(Clone, Debug)]
pub struct IntegerLayerNorm {
    norm: LayerNorm,
    from: IntType,
    gains: Vec<i16>,
    biases: Vec<i64>,
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
        Ok(IntegerLayerNorm {
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
    pub fn run(&self, _: &Context, input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
        let row = self.gains.len();
        let (read, written) = (row * width(self.from), row * width(self.norm.result));
        let rows = input.len() / read;
        expect_len("the input", input.len(), Some(rows * read))?;
        expect_len("the output", out.len(), Some(rows * written))?;
        let piece = PIECE.div_ceil(row);
        // A result takes as long as about eight multiply-adds.
        for_each_chunk(out, piece * written, (rows * row).saturating_mul(8), |i, out| {
            let mut codes = vec![0; row];
            let input = input[i * piece * read..].chunks(read);
            for (out, input) in out.chunks_mut(written).zip(input) {
                widen(self.from, input, &mut codes);
                match width(self.norm.result) {
                    1 => self.row::<[u8; 1]>(&codes, out),
                    _ => self.row::<[u8; 2]>(&codes, out),
                }
            }
        });
        Ok(())
    }

    fn row<T: Code>(&self, codes: &[i32], out: &mut [u8]) {
        let (mut sum, mut squares) = (0, 0);
        for &code in codes {
            let code = i64::from(code);
            sum += code;
            squares += code * code;
        }
        let moments = self.norm.moments(codes.len(), sum, squares);
        let positions = self.gains.iter().zip(&self.biases);
        for ((result, &code), (&gain, &bias)) in T::codes_mut(out).iter_mut().zip(codes).zip(positions) {
            let code = self.norm.result(moments.normalized(code), gain, bias);
            *result = T::new(self.norm.result, (code - origin(self.norm.result)) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                kernel.run(&Context::detect(), &bytes(from, &codes), &mut out).unwrap();
                let mut defined = vec![0; codes.len()];
                for (row, out) in codes.chunks(length).zip(defined.chunks_mut(length)) {
                    norm.eval(from, row, &gains, biases.as_deref(), out).unwrap();
                }
                assert_eq!(
                    out,
                    bytes(result, &defined),
                    "{from} to {result}, {rows} rows of {length}"
                );
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
