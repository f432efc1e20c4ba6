//! The largest or the smallest elements.

use super::prelude::*;

op! {
    /// The `k` largest or smallest elements along an axis, and their indices (i64). The elements are sorted: the
    /// largest comes first, or the smallest if `largest` is false. If elements are equal, the one with the lower index
    /// comes first. A NaN counts as larger than any number. A second operand (i64, one element) can replace `k`, which
    /// is then −1.
    TopK = "top_k" v 1: Real, 1 to 2 {
        /// How many elements are returned.
        k: i64,
        /// The axis; a negative one counts from the end.
        axis: i64,
        /// True for the largest elements, false for the smallest.
        largest: bool,
    }
}

impl OpFacts for TopK {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let axis = support::axis(self.axis, x.shape.len())?;
        let mut shape = x.shape.clone();
        shape[axis] = match support::late_number(operands, 1)? {
            true => Dim::OPEN,
            false => {
                let k = u64::try_from(self.k).ok();
                let k = k.filter(|&k| x.shape[axis].fixed().is_none_or(|extent| k <= extent));
                let k = k.map(Dim::Fixed);
                k.ok_or_else(|| {
                    Reason::new(
                        ReasonCode::Operands,
                        format!("{} elements out of axis {axis} of {x}", self.k),
                    )
                })?
            }
        };
        let indices = TensorType {
            elem: Elem::I64,
            shape: shape.clone(),
        };
        Ok(smallvec![TensorType { elem: x.elem, shape }, indices])
    }
}
