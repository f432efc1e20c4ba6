//! Resizing to the nearest element. Coordinates are computed in f32, as in ONNX Runtime.

use super::copies;
use crate::prelude::*;
use strait_core::op::{Coordinate, Nearest};

pub(crate) fn prepare(op: &op::Resize, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let (x, result) = (site.input(0)?, site.output()?);
    let picks = (0..x.dims.len()).map(|axis| {
        let (from, to) = (x.dims[axis], result.dims[axis]);
        let pick = |i: usize| {
            let at = coordinate(op, axis, [from, to], i);
            nearest(op.nearest, at, from)
        };
        (from != to || op.scales.get(axis).is_some_and(|&s| s != 1.0)).then(|| (0..to).map(pick).collect())
    });
    Ok(copies::picked(x, picks.collect()))
}

/// Returns the element to which a coordinate is rounded, on an axis with `from` elements.
pub(crate) fn nearest(rounding: Nearest, at: f32, from: usize) -> usize {
    let rounded = match rounding {
        Nearest::RoundPreferFloor => (at - 0.5).ceil(),
        Nearest::RoundPreferCeil => (at + 0.5).floor(),
        Nearest::Floor => at.floor(),
        Nearest::Ceil => at.ceil(),
    };
    // A conversion from float to usize saturates at 0.
    (rounded as usize).min(from.saturating_sub(1))
}

/// Returns the extent of the resized axis, `scale · from`, which may be a fraction. If the scale was computed as `to /
/// from` and rounded to a float, returns exactly `to`.
fn made(scale: f32, [from, to]: [f32; 2]) -> f32 {
    let made = scale * from;
    if (made - to).abs() <= 2.0 * f32::EPSILON * to {
        to
    } else {
        made
    }
}

/// Returns the coordinate in the operand for position `i` of the result. Along the axis, the operand has extent `from`,
/// and the result has extent `to`.
pub(crate) fn coordinate(op: &op::Resize, axis: usize, [from, to]: [usize; 2], i: usize) -> f32 {
    let (from, extent, x) = (from as f32, to as f32, i as f32);
    let scale = op.scales.get(axis).copied().unwrap_or(extent / from);
    let to = made(scale, [from, extent]);
    let region = |end: usize| {
        let at = end * (op.region.len() / 2) + axis;
        op.region.get(at).copied().unwrap_or(0.0)
    };
    match op.coordinate {
        Coordinate::PytorchHalfPixel if to <= 1.0 => 0.0,
        Coordinate::HalfPixel | Coordinate::PytorchHalfPixel => (x + 0.5) / scale - 0.5,
        Coordinate::HalfPixelSymmetric => from / 2.0 * (1.0 - extent / to) + (x + 0.5) / scale - 0.5,
        Coordinate::AlignCorners if to == 1.0 => 0.0,
        Coordinate::AlignCorners => x * (from - 1.0) / (to - 1.0),
        Coordinate::Asymmetric => x / scale,
        Coordinate::Crop if to == 1.0 => (region(0) + region(1)) * (from - 1.0) / 2.0,
        Coordinate::Crop => (region(0) + x * (region(1) - region(0)) / (to - 1.0)) * (from - 1.0),
    }
}
