//! `matmul_accumulate`: product of two activations. acc = Σ (q_a − z_a)·(q_b − z_b) on the grid s_a·s_b.

use super::Site;
use super::narrow::{Product, Wide, narrow};

use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::MatMul;
use strait_core::{QuantParams, Reason};
use strait_requantize::Per;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &Site<'_>) -> Result<(), Reason> {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let ((a_scale, a_zero), (b_scale, b_zero)) = (walk.grid(a)?, walk.grid(b)?);
    let operands = [walk.codes(a)?, walk.codes(b)?];
    // Each product is below 2^16 in magnitude for 8-bit codes, and the sum of K of them must stay in 32 bits.
    let inner = walk.dims(operands[0]).last().copied().unwrap_or(1);
    let codes = walk.spec.types.activation_range();
    let widest = |zero: i32| (codes.end() - zero).max(zero - codes.start()).unsigned_abs();
    let largest = u64::from(widest(a_zero)) * u64::from(widest(b_zero));
    if inner.checked_mul(largest).is_none_or(|sum| sum > i32::MAX as u64) {
        return Err(Reason::new(
            "accumulator-overflow",
            format!("a sum of {inner} products can pass 32 bits"),
        ));
    }
    let weight = Per::Tensor(b_scale);
    let grid = Arc::new(QuantParams::tensor(a_scale * b_scale, 0));
    let acc = walk.emit(
        site.node,
        MatMul { a_zero, b_zero },
        &operands,
        Some(grid),
        "accumulate",
    )?;
    let product = Product::FullyConnected(a_scale, &weight);
    narrow(
        walk,
        site,
        Wide {
            acc,
            zero: 0,
            product,
            axis: 0,
        },
    )
}
