//! `matmul_accumulate`: product of two activations. acc = Σ (q_a − z_a)·(q_b − z_b) on the grid s_a·s_b.

use super::NodeToLower;
use super::narrow::{Product, Wide, narrow};

use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::MatMul;
use strait_core::{Carrier, Channels, Failure, QuantParams};
use strait_requantize::range::Pairs;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let ((a_scale, a_zero), (b_scale, b_zero)) = (walk.grid(a)?, walk.grid(b)?);
    let operands = [walk.codes(a)?, walk.codes(b)?];
    let count = walk.dims(operands[0]).last().copied().unwrap_or(1);
    walk.prove(&Pairs {
        count,
        first: (walk.any_code(), a_zero.into()),
        second: (walk.any_code(), b_zero.into()),
        any_pattern: walk.are_two_inputs(a, b),
    })?;
    let grid = Arc::new(QuantParams::tensor(a_scale * b_scale, 0));
    let acc = walk.emit(
        site.node,
        MatMul {
            a_zero,
            b_zero,
            accumulator: Carrier::I32,
        },
        &operands,
        Some(grid),
        "accumulate",
    )?;
    let product = Product::Matrices(a_scale, b_scale);
    narrow(
        walk,
        site,
        Wide {
            acc,
            zero: 0,
            product,
            channels: Channels::Axis(0),
        },
    )
}
