//! Removes axes of extent 1.

use super::prelude::*;

op! {
    /// The operand without `axes`, which must have extent 1. An empty list means all axes of extent 1.
    Squeeze = "squeeze" v 1: Rearranges, 1 {
        /// The axes; negative ones count from the end.
        axes: SmallVec<[i64; 4]>,
    }
}

impl OpFacts for Squeeze {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let dropped = support::axes(&self.axes, x.shape.len())?;
        let mut shape = Shape::new();
        for (axis, &dim) in x.shape.iter().enumerate() {
            let drop = if self.axes.is_empty() {
                dim == Dim::Fixed(1)
            } else {
                dropped.contains(&axis)
            };
            support::ensure(!drop || dim == Dim::Fixed(1), ReasonCode::Squeeze, || {
                format!("axis {axis} has extent {dim}, not 1")
            })?;
            if !drop {
                shape.push(dim);
            }
        }
        support::one(x.elem, shape)
    }
}
