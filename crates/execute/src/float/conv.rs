//! Convolution.

use super::volume;
use crate::prelude::*;
use crate::window;
use strait_core::Dim;
use strait_kernels::float::conv;

impl Executable for op::Conv {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        if volume::applies(site) {
            return volume::prepare_conv(self, site);
        }
        let layer = window::conv(self, site)?;
        Ok(reading(3, move |io| {
            let (x, weights, bias) = (io.input(0)?, io.input(1)?, io.optional(2)?);
            Ok(conv(io.context, &layer, x, weights, bias, io.output()?)?)
        }))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        types.weighted()
    }

    fn scratch(&self, x: &TensorType, y: &TensorType, types: &Types<'_>) -> Scratch {
        let weight = types.operand(1);
        Scratch::run(match x.shape.len() {
            5 => weight.map_or(0, |weight| volume_bytes(self, x, weight, y)),
            _ => padded_bytes(self, x, weight).max(reordered_bytes(x)),
        })
    }
}

/// Returns the bytes of temporary memory that a convolution over three axes needs. The memory holds one layer of the
/// result, and the padded layers of the operand from which this layer is computed. If the layers are codes, the
/// accumulators of the result's layer are included.
fn volume_bytes(op: &op::Conv, x: &TensorType, weight: &TensorType, y: &TensorType) -> u64 {
    let read = extent(x, 1).saturating_mul(extent(weight, 2));
    let pads = |axis: usize| {
        let pad = |index: usize| op.pad.get(index).copied().map_or(0, u64::from);
        let stride = op.stride.get(axis).copied().map_or(1, u64::from);
        pad(axis).saturating_add(pad(axis + 3)).saturating_add(stride)
    };
    let plane = |axis: usize| extent(x, axis + 2).saturating_add(pads(axis));
    let read = times(read, plane(1).saturating_mul(plane(2)));
    let made = times(extent(y, 1), extent(y, 3).saturating_mul(extent(y, 4)));
    // Codes are copied to padded 16-bit words, unless they can be used as they are.
    times(
        read.saturating_mul(2).saturating_add(made),
        FLOAT.max(y.elem.size() as u64),
    )
}

/// Returns the bytes of the copy of an operand of codes whose channels are last. Codes of more than 8 bits and floats are
/// not copied.
fn reordered_bytes(x: &TensorType) -> u64 {
    if x.elem.int_type().is_none_or(|codes| codes.bits() > 8) || x.shape.len() < 3 {
        return 0;
    }
    let channels = extent(x, 1);
    // Channels are padded to whole groups of four.
    times(count(x) / channels.max(1), channels.saturating_add(3) / 4 * 4)
}

/// Returns the bytes of one padded image in the layout that the kernels read; 0 if the operand has this layout already.
fn padded_bytes(op: &op::Conv, x: &TensorType, weight: Option<&TensorType>) -> u64 {
    let words = [Some(x), weight].into_iter().flatten().any(|ty| ty.elem.size() > 1);
    let along = op.stride.last().copied().map_or(1, u64::from);
    if op.pad.iter().all(|&pad| pad == 0) && along == 1 && (x.elem == Elem::F32 || !words) {
        return 0;
    }
    let spatial = x.shape.len().saturating_sub(2);
    let extent = |(axis, dim): (usize, &Dim)| {
        let pads = [axis, axis + spatial].map(|side| op.pad.get(side).copied().map_or(0, u64::from));
        // A row is padded to a multiple of the stride.
        let rest = if axis + 1 == spatial { along - 1 } else { 0 };
        let extent = dim.fixed().unwrap_or(u64::MAX);
        extent
            .saturating_add(pads[0])
            .saturating_add(pads[1])
            .saturating_add(rest)
    };
    let plane = x
        .shape
        .iter()
        .skip(2)
        .enumerate()
        .map(extent)
        .fold(1, u64::saturating_mul);
    let channels = x.shape.get(1).and_then(|dim| dim.fixed()).unwrap_or(1);
    // Each word has two bytes. The codes may also be copied before they become words.
    times(times(channels, plane), if words { 4 } else { 1 })
}
