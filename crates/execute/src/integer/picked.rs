//! Channels that an operand picks: the parameters of every position of the result.
//!
//! The loops know channels as the indices along an axis. What an operand picks for each position of a plane becomes one
//! channel per position, with the parameters of the picked one: selected once, when the plan is made.

use crate::site::NodeSlots;
use strait_core::TensorData;

/// Positions of the last axes of the result, the same for every index of the axes before them.
pub(super) struct Picked {
    /// The first of these axes.
    pub(super) from: usize,
    /// The channel of each position, in row-major order.
    pub(super) channels: Vec<usize>,
}

impl NodeSlots<'_> {
    /// Channels that an operand picks, over the last axes from `least` or before on; `None` where no operand does, and
    /// `Err` where it is not known yet, or is no number of a channel.
    pub(super) fn picked(&self, least: usize) -> Result<Option<Picked>, ()> {
        let operand = self.node.op.channel_operand().and_then(|index| self.optional(index));
        let Some(slot) = operand else { return Ok(None) };
        let picks = slot.constant.map(TensorData::values::<i32>);
        let Some(Ok(picks)) = picks else { return Err(()) };
        let result = &self.output().map_err(|_| ())?.dims;
        // Axes are counted from the last one; those that the operand does not have are not told apart.
        let missing = result.len().checked_sub(slot.dims.len()).ok_or(())?;
        let told_apart = slot.dims.iter().position(|&extent| extent > 1);
        let from = told_apart
            .map_or(least, |axis| least.min(axis + missing))
            .min(result.len());
        let mut channels = vec![0];
        for (axis, &extent) in result.iter().enumerate().skip(from) {
            let own = axis.checked_sub(missing).map_or(1, |axis| slot.dims[axis]);
            // Row-major, so that the next axis is the inner one; an extent of 1 is repeated.
            let step = |&at: &usize| (0..extent).map(move |i| at * own + if own == 1 { 0 } else { i });
            channels = channels.iter().flat_map(step).collect();
        }
        let pick = |at: usize| usize::try_from(*picks.get(at).ok_or(())?).map_err(|_| ());
        let channels = channels.into_iter().map(pick).collect::<Result<_, _>>()?;
        Ok(Some(Picked { from, channels }))
    }
}
