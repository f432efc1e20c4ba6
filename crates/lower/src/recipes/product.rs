//! The product of two activations: acc = Σ (q_a − z_a)·(q_b − z_b) on the grid s_a·s_b.

use super::NodeToLower;
use super::narrow::{Product, Wide, narrow};

use crate::interval::any_code;
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::{Carrier, Channels, Failure, Op, Reason, ReasonCode};
use strait_requantize::range::{self, Overflow, Pairs};

/// Lowers a node whose accumulators are sums of `count` products of two activations. `op` makes the primitive from the
/// zero points of both operands. `product` is the runtime's rule for multiplying their scales.
pub(super) fn of_activations(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    count: u64,
    op: impl FnOnce([i32; 2], Carrier) -> Op,
    product: fn(f32, f32) -> Product,
) -> Result<(), Failure> {
    let [a, b] = [lowering.operand(site, 0)?, lowering.operand(site, 1)?];
    let ([a_scale, b_scale], zeros) = ([a.grid.scale, b.grid.scale], [a.grid.zero, b.grid.zero]);
    let operands = [a.value, b.value];
    let sum = Pairs {
        count,
        first: (any_code(a.grid.ty), zeros[0].into()),
        second: (any_code(b.grid.ty), zeros[1].into()),
        any_pattern: lowering.are_two_inputs(site),
    };
    lowering.prove(site, &sum)?;
    if let Some((channels, within)) = lowering.block(site)? {
        let part = Pairs {
            count: count.min(channels.into()),
            ..sum
        };
        range::prove(0, &part, within).map_err(|overflow| in_block(channels, &overflow))?;
    }
    let grid = a.grid.params().product(&b.grid.params(), None);
    let carrier = lowering.carrier(site)?;
    let acc = lowering.emit(
        site.node,
        op(zeros, carrier),
        &operands,
        grid.map(Arc::new),
        "accumulate",
    )?;
    let wide = Wide {
        acc,
        zero: 0,
        product: product(a_scale, b_scale),
        channels: Channels::Axis(0),
    };
    narrow(lowering, site, wide)
}

/// The reason for refusing a node if the target first adds up the products of `channels` channels, and these sums can
/// overflow.
pub(super) fn in_block(channels: u32, overflow: &Overflow) -> Reason {
    let text = format!("in the sums of {channels} channels that the target forms first, {overflow}");
    Reason::new(ReasonCode::AccumulatorOverflow, text)
}
