//! A node may have an operand that picks channels. For every position of the result, it contains the index of the
//! channel whose parameters requantize the element at this position.
//!
//! The loops only know channels as indices along one axis. If an operand picks a channel for each position of a plane,
//! each position becomes a channel of its own, with the parameters of the picked channel. This is done once, when the
//! plan is made.

use crate::prelude::*;
use strait_core::TensorData;
use strait_core::shape::element_count;

/// Bytes for one position of a plane whose channels an operand picks: the index of the channel, and its parameters
/// while they are selected.
const PICKED: u64 = 64;

/// The channel that is picked for each position along the last axes of the result. The picked channels are the same for
/// every index along the earlier axes.
pub(super) struct Picked {
    /// The first of these last axes.
    pub(super) from: usize,
    /// The channel of each position, in row-major order.
    pub(super) channels: Vec<usize>,
}

impl NodeSlots<'_> {
    /// Returns the channels that an operand picks. There is a channel for each position along the last axes of the
    /// result. These axes begin at `least`, or at an earlier axis if the channels differ along it. Returns `None` if no
    /// operand picks channels. Returns `Err` if the operand is not constant, or if one of its numbers is negative.
    pub(super) fn picked(&self, least: usize) -> Result<Option<Picked>, ()> {
        let operand = self.node.op.channel_operand().and_then(|index| self.optional(index));
        let Some(slot) = operand else { return Ok(None) };
        let picks = slot.constant.map(TensorData::values::<i32>);
        let Some(Ok(picks)) = picks else { return Err(()) };
        let result = &self.output().map_err(|_| ())?.dims;
        // Axes are aligned at the last one. Along an axis that the operand lacks, all positions have the same channel.
        let missing = result.len().checked_sub(slot.dims.len()).ok_or(())?;
        let told_apart = slot.dims.iter().position(|&extent| extent > 1);
        let from = told_apart
            .map_or(least, |axis| least.min(axis + missing))
            .min(result.len());
        let mut channels = vec![0];
        for (axis, &extent) in result.iter().enumerate().skip(from) {
            let own = axis.checked_sub(missing).map_or(1, |axis| slot.dims[axis]);
            // The order is row-major, so each later axis lies inside of the earlier ones. An extent of 1 is repeated.
            let step = |&at: &usize| (0..extent).map(move |i| at * own + if own == 1 { 0 } else { i });
            channels = channels.iter().flat_map(step).collect();
        }
        let pick = |at: usize| usize::try_from(*picks.get(at).ok_or(())?).map_err(|_| ());
        let channels = channels.into_iter().map(pick).collect::<Result<_, _>>()?;
        Ok(Some(Picked { from, channels }))
    }
}

/// The bytes that a sum or a requantization needs if an operand picks its channels.
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

/// Number of positions along those axes of the result along which `picks` may differ.
fn plane(y: &TensorType, picks: &TensorType) -> u64 {
    let apart = picks.shape.iter().position(|dim| dim.fixed() != Some(1));
    let behind = apart.map_or(2, |axis| picks.shape.len() - axis).min(y.shape.len());
    element_count(&y.shape[y.shape.len() - behind..]).unwrap_or(u64::MAX)
}
