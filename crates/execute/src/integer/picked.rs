//! Operands that give the channel of each element of the result. An element is requantized with the parameters of its
//! channel.
//!
//! The loops only know channels as indices along one axis. If an operand gives a channel for each position of a plane,
//! each position becomes a channel of its own, with the parameters of the given channel. This is done once, when the
//! plan is made.

use crate::prelude::*;
use strait_core::TensorData;
use strait_core::shape::element_count;

/// The size in bytes of the channel index for one position, and of its parameters while they are collected.
const PICKED: u64 = 64;

/// The channel of each position along the last axes of the result. The channels are the same for every index along the
/// earlier axes.
pub(super) struct Picked {
    /// The first of the last axes along which channels differ.
    pub(super) from: usize,
    /// The channel of each position, in row-major order.
    pub(super) channels: Vec<usize>,
}

impl NodeSlots<'_> {
    /// Returns the channels that an operand gives for the positions along the last axes of the result. These axes begin
    /// at `least`, or at an earlier axis if the channels differ along it. Returns `None` if no operand gives channels.
    /// Returns `Err` if the operand is not constant, or if one of its numbers is negative.
    pub(super) fn picked(&self, least: usize) -> Result<Option<Picked>, ()> {
        let operand = self.node.op.channel_operand().and_then(|index| self.optional(index));
        let Some(slot) = operand else { return Ok(None) };
        let picks = slot.constant.map(TensorData::values::<i32>);
        let Some(Ok(picks)) = picks else { return Err(()) };
        let result = &self.output().map_err(|_| ())?.dims;
        // The two shapes are aligned at their last axes. The channels do not differ along an axis that the operand
        // lacks.
        let missing = result.len().checked_sub(slot.dims.len()).ok_or(())?;
        let told_apart = slot.dims.iter().position(|&extent| extent > 1);
        let from = told_apart
            .map_or(least, |axis| least.min(axis + missing))
            .min(result.len());
        let mut channels = vec![0];
        for (axis, &extent) in result.iter().enumerate().skip(from) {
            let own = axis.checked_sub(missing).map_or(1, |axis| slot.dims[axis]);
            // Each later axis is repeated inside of the earlier ones. An extent of 1 is broadcast.
            let step = |&at: &usize| (0..extent).map(move |i| at * own + if own == 1 { 0 } else { i });
            channels = channels.iter().flat_map(step).collect();
        }
        let pick = |at: usize| usize::try_from(*picks.get(at).ok_or(())?).map_err(|_| ());
        let channels = channels.into_iter().map(pick).collect::<Result<_, _>>()?;
        Ok(Some(Picked { from, channels }))
    }
}

/// Returns the memory that a sum or a requantization needs if an operand gives its channels.
pub(super) fn scratch(y: &TensorType, types: &Types<'_>) -> Scratch {
    let planes = types.operands.iter().flatten().skip(1).map(|picks| plane(y, picks));
    Scratch {
        held: match types.picks {
            true => times(planes.max().unwrap_or(0), PICKED),
            false => 0,
        },
        run: times(sum_from(y, 2), TAPS),
    }
}

/// Returns the number of positions along the last axes of the result, from the first axis along which `picks` differs.
fn plane(y: &TensorType, picks: &TensorType) -> u64 {
    let apart = picks.shape.iter().position(|dim| dim.fixed() != Some(1));
    let behind = apart.map_or(2, |axis| picks.shape.len() - axis).min(y.shape.len());
    element_count(&y.shape[y.shape.len() - behind..]).unwrap_or(u64::MAX)
}
