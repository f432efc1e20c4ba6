//! Ops that read operands besides the value: addends, tables of interpolations, and sizes.

use super::{KnownValue, Maker};
use smallvec::SmallVec;
use strait_core::op::{self, Coordinate};
use strait_core::{Addend, Elem, Fused, Op, ValueId};
use strait_requantize::{IntType, Rounding};

impl Maker {
    /// Gives a convolution or gemm with a bias an addend, whose codes are added to its accumulators. The accumulators
    /// must have 32 bits.
    pub(super) fn addend(&mut self, op: &Op, inputs: &mut Vec<ValueId>, fused: &mut Fused) {
        let main = self.builder.module.main();
        let types: Vec<_> = inputs.iter().map(|&v| main.value(v).map(|v| &v.ty)).collect();
        let result = self.builder.module.result_types(op, &types, None).unwrap()[0].clone();
        let product = matches!(op, Op::Conv(_) | Op::Gemm(_));
        if !product || inputs.len() != Addend::OPERAND || result.elem != Elem::I32 {
            return;
        }
        let (codes, dims) = (self.random.codes(), result.dims().unwrap().to_vec());
        let channels = dims[op.channel_axis(dims.len()).unwrap()] as usize;
        inputs.push(self.weights(codes, &dims));
        let zero = if self.random.flip() { 0 } else { codes.max() / 3 };
        let bits = i64::from(codes.bits()) + 3;
        let form = self.random.form(bits, Some(channels), IntType::I32);
        fused.addend = Some(Addend { zero, form });
    }

    /// Adds a piecewise linear function whose points are entries of a table. The entries may have another type.
    pub(super) fn lines(&mut self, x: &KnownValue) {
        let bits = x.codes().bits();
        let (step, codes) = (self.random.range(1, bits.into()) as u8, self.random.codes());
        let table = self.weights(codes, &[(1 << (bits - step)) + 1]);
        let rounding = self.random.pick(&Rounding::ALL);
        self.add(op::Interpolate { step, rounding }, &[x.id, table], None);
    }

    /// Adds a resize that interpolates along up to two axes, to more elements or to fewer.
    pub(super) fn resampled(&mut self, x: &KnownValue) {
        let mut sizes: SmallVec<[i64; 4]> = x.dims.iter().map(|&extent| extent as i64).collect();
        for _ in 0..2 {
            let axis = self.random.range(0, sizes.len() as i64 - 1) as usize;
            sizes[axis] = self.random.range(1, 12);
        }
        let coordinates: Vec<Coordinate> = Coordinate::ALL
            .iter()
            .copied()
            .filter(|&c| c != Coordinate::Crop)
            .collect();
        let op = op::IntegerResize {
            sizes,
            coordinate: self.random.pick(&coordinates),
            fraction: self.random.range(1, 16) as u8,
            rounding: self.random.pick(&Rounding::ALL),
        };
        self.add(op, &[x.id], None);
    }
}
