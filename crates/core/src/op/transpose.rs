//! Permutes axes.

use super::prelude::*;

op! {
    /// Axis i of the result is axis `permutation[i]` of the operand.
    Transpose = "transpose" v 1: Rearranges, 1 {
        /// The axis of the operand for each axis of the result.
        permutation: SmallVec<[u32; 4]>,
    }
}

impl OpFacts for Transpose {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let mut sorted = self.permutation.clone();
        sorted.sort_unstable();
        let whole = sorted.iter().enumerate().all(|(index, &axis)| axis as usize == index);
        support::ensure(whole && sorted.len() == x.shape.len(), ReasonCode::Permutation, || {
            format!("{:?} is not a permutation of {} axes", self.permutation, x.shape.len())
        })?;
        support::one(
            x.elem,
            self.permutation.iter().map(|&axis| x.shape[axis as usize]).collect(),
        )
    }
}
