//! `add_coarser_grid`: with s = max(s_a, s_b), the operand on s is q − z as it is, and the other one (q − z)·(s_b/s),
//! rounded, where s_b is the smaller scale; their sum or difference is requantized by s / s_y. On scales that are powers of
//! two the finer operand is shifted right, as ESP-DL's ADD and SUB do it.

use super::{NodeToLower, sum};
use crate::lowering::{Lowering, QuantizedValue};
use std::sync::Arc;
use strait_core::op::ShiftLeft;
use strait_core::{Carrier, Failure, QuantParams};

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let operands = [lowering.operand(site, 0)?, lowering.operand(site, 1)?];
    let step = operands[0].grid.scale.max(operands[1].grid.scale);
    let mut terms = operands.each_ref().map(|codes| codes.value);
    for (term, QuantizedValue { grid, .. }) in terms.iter_mut().zip(&operands) {
        *term = if grid.scale == step {
            let centred = ShiftLeft {
                zero: grid.zero,
                bits: 0,
                // As wide as the other one is shifted into, whatever the target adds in.
                accumulator: Carrier::I32,
            };
            let coarser = Arc::new(QuantParams::tensor(step, 0));
            lowering.shift_left(site.node, centred, *term, Some(coarser), "operand")?
        } else {
            sum::operand(lowering, site, *term, (grid.scale.into(), grid.zero), step)?
        };
    }
    sum::total(lowering, site, &terms, step)
}
