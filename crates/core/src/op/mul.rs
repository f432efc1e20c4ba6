//! Elementwise product.

use super::prelude::*;

op! {
    /// `a` · `b`; on integers (a − a_zero)·(b − b_zero).
    ///
    /// Operands broadcast as in NumPy. Both operands have the same type, or both are codes.
    Mul = "mul" v 2: Accumulates, 2 {
        /// Zero point of `a`; 0 in float.
        a_zero: i32,
        /// Zero point of `b`; 0 in float.
        b_zero: i32,
        /// The integer type of the accumulator if the operands are codes. The default is i32. If the operands are not
        /// codes, this field has no effect and is i32.
        accumulator: Carrier,
    }
}

impl Mul {
    /// Returns the op that multiplies real numbers.
    pub fn float() -> Mul {
        Mul {
            a_zero: 0,
            b_zero: 0,
            accumulator: Carrier::I32,
        }
    }
}

impl OpFacts for Mul {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let [a, b] = [support::operand(operands, 0)?, support::operand(operands, 1)?];
        let codes = a.elem.int_type().is_some() && b.elem.int_type().is_some();
        support::ensure(a.elem == b.elem || codes, ReasonCode::ElementTypes, || {
            format!("the operands are {} and {}", a.elem, b.elem)
        })?;
        let elem = support::accumulator(a.elem, self.accumulator)?;
        support::one(elem, support::broadcast(&a.shape, &b.shape)?)
    }

    fn zeros(&self) -> SmallVec<[Zero; 2]> {
        smallvec![Zero::of(0, self.a_zero), Zero::of(1, self.b_zero)]
    }
}
