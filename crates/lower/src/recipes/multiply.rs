//! `multiply`: elementwise product. acc = (q_a − z_a)·(q_b − z_b) on the grid s_a·s_b.

use super::NodeToLower;
use super::narrow::{Product, Wide, narrow};

use crate::interval::any_code;
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::Mul;
use strait_core::{Channels, Failure, QuantParams};
use strait_requantize::range::Pairs;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let [a, b] = [walk.operand(site, 0)?, walk.operand(site, 1)?];
    let ([a_scale, b_scale], [a_zero, b_zero]) = ([a.grid.scale, b.grid.scale], [a.grid.zero, b.grid.zero]);
    let operands = [a.value, b.value];
    let sum = Pairs {
        count: 1,
        first: (any_code(a.grid.ty), a_zero.into()),
        second: (any_code(b.grid.ty), b_zero.into()),
        any_pattern: walk.are_two_inputs(site),
    };
    walk.prove(site, &sum)?;
    let grid = Arc::new(QuantParams::tensor(a_scale * b_scale, 0));
    let acc = walk.emit(
        site.node,
        Mul {
            a_zero,
            b_zero,
            accumulator: walk.carrier(site)?,
        },
        &operands,
        Some(grid),
        "accumulate",
    )?;
    narrow(
        walk,
        site,
        Wide {
            acc,
            zero: 0,
            product: Product::Activations(a_scale, b_scale),
            channels: Channels::Axis(0),
        },
    )
}
