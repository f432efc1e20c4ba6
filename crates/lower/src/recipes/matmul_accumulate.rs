//! `matmul_accumulate`: product of two activations. acc = Σ (q_a − z_a)·(q_b − z_b) on the grid s_a·s_b.

use super::NodeToLower;
use super::narrow::{Product, Wide, narrow};

use crate::interval::any_code;
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::MatMul;
use strait_core::{Channels, Failure, QuantParams};
use strait_requantize::range::Pairs;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let [a, b] = [walk.operand(site, 0)?, walk.operand(site, 1)?];
    let ([a_scale, b_scale], [a_zero, b_zero]) = ([a.grid.scale, b.grid.scale], [a.grid.zero, b.grid.zero]);
    let operands = [a.value, b.value];
    let count = walk.dims(operands[0]).last().copied().unwrap_or(1);
    let sum = Pairs {
        count,
        first: (any_code(a.grid.ty), a_zero.into()),
        second: (any_code(b.grid.ty), b_zero.into()),
        any_pattern: walk.are_two_inputs(site),
    };
    walk.prove(site, &sum)?;
    let grid = Arc::new(QuantParams::tensor(a_scale * b_scale, 0));
    let acc = walk.emit(
        site.node,
        MatMul {
            a_zero,
            b_zero,
            accumulator: walk.carrier(site)?,
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
