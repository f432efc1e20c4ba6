//! Primitives that compute codes from codes, without an accumulator.

use super::{KnownValue, Maker};
use strait_core::Elem;
use strait_core::op;
use strait_requantize::IntType;
use strait_requantize::function::{Definition, LayerNorm, LayerNormScales, Softmax};
use strait_requantize::mixed::QLinearAdd;

impl Maker {
    /// Adds a sum of codes of 8 bits, with a factor for each of them.
    pub(super) fn scaled_sum(&mut self, x: &KnownValue) {
        if x.bits() != 8 {
            return;
        }
        let other = self.same_type(x);
        let r = &mut self.random;
        let [a, b] = [r.range(1, 600), r.range(1, 600)].map(|factor| factor as f32 / 256.0);
        let form = QLinearAdd {
            a,
            b,
            offset: r.range(-80_000, 80_000) as f32 / 512.0,
            out: [IntType::I8, IntType::U8][r.range(0, 1) as usize],
        };
        self.add(op::ScaledAdd::new(&form), &[x.id, other.id], None);
    }

    /// Adds a softmax along any axis, if there is a softmax for the operand's type.
    pub(super) fn softmax(&mut self, x: &KnownValue) {
        let axis = self.random.range(0, x.dims.len() as i64 - 1);
        let (scale, beta) = (self.random.range(1, 1000) as f32 / 4096.0, 1.0);
        let definitions = Definition::ALL.into_iter().filter(|definition| {
            let facts = definition.softmax();
            facts.is_some_and(|f| f.elements == x.codes() && x.dims[axis as usize] <= f.longest_row as u64)
        });
        for softmax in definitions.map(|definition| Softmax::of(definition, scale, beta).unwrap()) {
            let (multiplier, exponent) = softmax.factor();
            let op = op::IntegerSoftmax {
                axis,
                definition: softmax.definition(),
                multiplier,
                exponent,
            };
            self.add(op, &[x.id], None);
        }
    }

    /// Adds a layer normalization over the last axes, with biases or without.
    pub(super) fn layer_normalization(&mut self, x: &KnownValue) {
        let axis = self.random.range(0, x.dims.len() as i64 - 1) as usize;
        let row = x.dims[axis..].to_vec();
        let length = row.iter().product::<u64>();
        let to = [IntType::I8, IntType::U8, IntType::I16][self.random.range(0, 2) as usize];
        if x.bits() > 16 || length as usize > LayerNorm::LONGEST_ROW {
            return;
        }
        let scales = LayerNormScales {
            input: self.random.range(1, 1000) as f32 / 4096.0,
            gain: 1.0 / 16384.0,
            output: (4.0 / to.max() as f32, to.max() / 2),
            result: to,
        };
        let norm = LayerNorm::of(self.random.range(0, 1) == 1, length as usize, 1e-5, scales).unwrap();
        let gains: Vec<i64> = (0..length).map(|_| self.random.range(-32_768, 32_767)).collect();
        let mut operands = vec![x.id, self.builder.integers(Elem::I16, &row, &gains)];
        let carrier = [None, Some(Elem::I32), Some(Elem::I64)][self.random.range(0, 2) as usize];
        if let Some(elem) = carrier {
            let biases: Vec<i64> = (0..length).map(|_| self.random.range(-90_000, 90_000)).collect();
            operands.push(self.builder.integers(elem, &row, &biases));
        }
        let op = op::IntegerLayerNormalization::new(axis as i64 - x.dims.len() as i64, &norm);
        self.add(op, &operands, None);
    }
}
