//! (x − zero)·2^bits, as a table of 256 accumulators.

use super::{Prepared, eight_bits, lookup::Lookup};
use crate::site::NodeSlots;
use strait_core::op;

pub(crate) fn prepare(op: &op::ShiftLeft, site: &NodeSlots<'_>) -> Prepared {
    let (Some(element), None) = (eight_bits(site.input(0)?), &site.fused) else {
        return Ok(None);
    };
    // At most 9 bits shifted by at most 23; see the op.
    let entry = |code: i32| ((code - op.zero) << op.bits).to_ne_bytes();
    Ok(Some(Box::new(Lookup {
        element,
        table: element.range().flat_map(entry).collect(),
    })))
}
