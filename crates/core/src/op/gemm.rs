//! Matrix product with a bias.

use super::prelude::*;

op! {
    /// `a`·`b` + `bias`, the fully connected layer.
    ///
    /// Operands: `a` `[…, K]` (any rank from 1; leading axes are rows), `b` `[K, N]` (or `[N, K]` with `transpose_b`),
    /// and optionally `bias`, which broadcasts to `[N]`. Result: `[…, N]`. The product is multiplied by `alpha` and the
    /// bias by `beta`. On integers, `alpha` and `beta` are 1, and the result is `a`·(`b` − `weight_zero`) + `bias`.
    Gemm = "gemm" v 3: Accumulates, 2 to 3 {
        /// True if `a` is `[K, M]`; only for rank 2.
        transpose_a: bool,
        /// True if `b` is `[N, K]`.
        transpose_b: bool,
        /// Factor of the product.
        alpha: f32,
        /// Factor of the bias.
        beta: f32,
        /// The integer type of the accumulator if the operands are codes. The default is i32. If the operands are not
        /// codes, this field has no effect and is i32.
        accumulator: Carrier,
        /// Zero point of `b`: one for all, or one for each of its N outputs. The default is 0. For floats it is always
        /// 0.
        weight_zero: WeightZero,
    }
}

impl OpFacts for Gemm {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (a, b) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::ensure(!a.shape.is_empty() && b.shape.len() == 2, ReasonCode::GemmRank, || {
            format!(
                "a has rank {} (1 or more is needed) and b rank {} (2 is needed)",
                a.shape.len(),
                b.shape.len()
            )
        })?;
        let elem = support::factors(a, b, operands.get(2).copied().flatten(), self.accumulator)?;
        support::ensure(
            a.elem.is_float() || (self.alpha, self.beta) == (1.0, 1.0),
            ReasonCode::GemmFactors,
            || format!("alpha is {} and beta {}; on integers both are 1", self.alpha, self.beta),
        )?;
        support::ensure(!self.transpose_a || a.shape.len() == 2, ReasonCode::GemmRank, || {
            format!("a is transposed but has rank {}", a.shape.len())
        })?;
        let mut shape = a.shape.clone();
        if self.transpose_a {
            shape.swap(0, 1);
        }
        let (inner, columns) = if self.transpose_b {
            (b.shape[1], b.shape[0])
        } else {
            (b.shape[0], b.shape[1])
        };
        let last = shape.len() - 1;
        support::ensure(shape[last].may_equal(inner), ReasonCode::GemmInner, || {
            format!("the inner dimensions differ: {} and {inner}", shape[last])
        })?;
        shape[last] = columns;
        if let (Some(_), columns) = (self.weight_zero.0.channels(), columns.fixed()) {
            support::one_for_each(&self.weight_zero, columns.unwrap_or(0))?;
        }
        if let Some(bias) = operands.get(2).copied().flatten() {
            let fits = support::may_equal(&support::broadcast(&bias.shape, &shape)?, &shape);
            support::ensure(fits, ReasonCode::GemmBias, || {
                format!("the bias {:?} does not broadcast to the result", bias.shape)
            })?;
        }
        support::one(elem, shape)
    }

    fn channel_axis(&self, rank: usize) -> Option<usize> {
        rank.checked_sub(1)
    }

    fn weight_zero(&self) -> Option<&WeightZero> {
        Some(&self.weight_zero)
    }

    fn zeros(&self) -> SmallVec<[Zero; 2]> {
        self.weight_zero.zeros().collect()
    }
}

impl Gemm {
    /// `a`·`b`ᵀ + `bias`: the canonical form of a Gemm. Each row of `b` has the weights of one output.
    pub fn canonical() -> Gemm {
        Gemm {
            transpose_a: false,
            transpose_b: true,
            alpha: 1.0,
            beta: 1.0,
            accumulator: Carrier::I32,
            weight_zero: WeightZero::default(),
        }
    }

    /// True if the op is [`Gemm::canonical`]. The type of the accumulator and the zero points of the weights may
    /// differ.
    pub fn is_canonical(&self) -> bool {
        let canonical = Gemm {
            accumulator: self.accumulator,
            weight_zero: self.weight_zero.clone(),
            ..Gemm::canonical()
        };
        *self == canonical
    }
}
