//! Matrix product of two activations.

use super::prelude::*;

op! {
    /// Batched matrix product, with NumPy's rules for ranks and batch axes.
    ///
    /// Operands: `a` [..., M, K] and `b` [..., K, N]. Result: [..., M, N]. On integers the result is Σ (a − a_zero)·(b
    /// − b_zero).
    MatMul = "matmul" v 2: Accumulates, 2 {
        /// Zero point of `a`; 0 in float.
        a_zero: i32,
        /// Zero point of `b`; 0 in float.
        b_zero: i32,
        /// The integer type of the accumulator if the operands are codes. The default is i32. If the operands are not
        /// codes, this field has no effect and is i32.
        accumulator: Carrier,
    }
}

impl OpFacts for MatMul {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (a, b) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::ensure(
            !a.shape.is_empty() && !b.shape.is_empty(),
            ReasonCode::MatmulRank,
            || "an operand is a scalar".into(),
        )?;
        let elem = support::factors(a, b, None, self.accumulator)?;
        let mut left: Shape = a.shape.clone();
        let mut right: Shape = b.shape.clone();
        // As in NumPy, a vector on the left is treated as a row, and a vector on the right as a column. The added axis
        // of extent 1 is removed from the result.
        if left.len() == 1 {
            left.insert(0, Dim::Fixed(1));
        }
        if right.len() == 1 {
            right.push(Dim::Fixed(1));
        }
        let (rows, inner) = (left[left.len() - 2], left[left.len() - 1]);
        let (inner_b, columns) = (right[right.len() - 2], right[right.len() - 1]);
        support::ensure(inner.may_equal(inner_b), ReasonCode::MatmulInner, || {
            format!("the inner dimensions differ: {inner} and {inner_b}")
        })?;
        let mut shape = support::broadcast(&left[..left.len() - 2], &right[..right.len() - 2])?;
        if a.shape.len() > 1 {
            shape.push(rows);
        }
        if b.shape.len() > 1 {
            shape.push(columns);
        }
        support::one(elem, shape)
    }

    fn channel_axis(&self, rank: usize) -> Option<usize> {
        rank.checked_sub(1)
    }

    fn zeros(&self) -> SmallVec<[Zero; 2]> {
        smallvec![Zero::of(0, self.a_zero), Zero::of(1, self.b_zero)]
    }
}
