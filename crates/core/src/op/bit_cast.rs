//! Reinterprets bits as another type.

use super::prelude::*;

op! {
    /// Reads the operand's bits as another element type of the same width: 8, 16, 32 or 64 bits. Booleans are not
    /// allowed.
    BitCast = "bit_cast" v 1: Converts, 1 {
        /// The element type of the result.
        to: Elem,
    }
}

impl OpFacts for BitCast {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let is_plain = |elem: Elem| !matches!(elem, Elem::Bool | Elem::I4 | Elem::U4);
        let fits = is_plain(x.elem) && is_plain(self.to) && x.elem.size() == self.to.size();
        support::ensure(fits, ReasonCode::ElementTypes, || {
            format!("the bits of {} are no {}", x.elem, self.to)
        })?;
        support::one(self.to, x.shape.clone())
    }
}
