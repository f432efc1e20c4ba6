//! A second operand at run time.

use super::Maker;
use strait_core::{Addend, Elem, Fused, Op, ValueId};
use strait_requantize::IntType;

impl Maker {
    /// Codes that are added inside the accumulator of a product with a bias, where it has 32 bits.
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
}
