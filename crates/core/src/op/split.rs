//! Splits a tensor along one axis.

use super::prelude::*;
use crate::ids::MAX_RESULTS;

op! {
    /// Cuts the operand into consecutive parts along `axis`. Each part is a result of its own.
    Split = "split" v 1: Moves, 1 {
        /// The axis; a negative one counts from the end.
        axis: i64,
        /// The extent of each part.
        sizes: SmallVec<[i64; 4]>,
    }
}

impl OpFacts for Split {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let axis = support::axis(self.axis, x.shape.len())?;
        let total = self
            .sizes
            .iter()
            .try_fold(0i64, |sum, &s| (s >= 0).then(|| sum.checked_add(s))?);
        let extent = x.shape[axis].fixed().and_then(|e| i64::try_from(e).ok());
        support::ensure(total.is_some() && total == extent, ReasonCode::Split, || {
            format!(
                "pieces of {:?} do not make up an extent of {}",
                self.sizes, x.shape[axis]
            )
        })?;
        support::ensure(self.sizes.len() <= MAX_RESULTS, ReasonCode::Split, || {
            format!("there are more than {MAX_RESULTS} pieces")
        })?;
        Ok(self
            .sizes
            .iter()
            .map(|&size| {
                let mut shape = x.shape.clone();
                shape[axis] = Dim::Fixed(size.unsigned_abs());
                TensorType { elem: x.elem, shape }
            })
            .collect())
    }
}
