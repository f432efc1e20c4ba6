//! Resampling to the nearest element. The arithmetic of coordinates is f32, as ONNX Runtime's is.

use super::{by_width, strided};
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::tensor::Dims;
use strait_core::Elem;
use strait_core::op::{self, Coordinate, Nearest, ResizeMode};

struct Resize {
    elem: Elem,
    dims: Dims,
    picks: Vec<Option<strided::Picks>>,
}

/// True if elements are only moved.
pub(crate) fn applies(op: &op::Resize) -> bool {
    op.mode == ResizeMode::Nearest
}

pub(crate) fn prepare(op: &op::Resize, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let (x, result) = (site.input(0)?, site.output()?);
    let picks = (0..x.dims.len()).map(|axis| {
        let (from, to) = (x.dims[axis], result.dims[axis]);
        let nearest = |i: usize| {
            let at = coordinate(op, axis, [from, to], i);
            let rounded = match op.nearest {
                Nearest::RoundPreferFloor => (at - 0.5).ceil(),
                Nearest::RoundPreferCeil => (at + 0.5).floor(),
                Nearest::Floor => at.floor(),
                Nearest::Ceil => at.ceil(),
            };
            // A float to usize saturates at 0.
            (rounded as usize).min(from.saturating_sub(1))
        };
        (from != to || op.scales.get(axis).is_some_and(|&s| s != 1.0)).then(|| (0..to).map(nearest).collect())
    });
    Ok(Box::new(Resize {
        elem: x.elem,
        dims: x.dims.clone(),
        picks: picks.collect(),
    }))
}

/// The coordinate in the operand that position `i` of the result stands for, along one axis of extents `[from, to]`.
pub(crate) fn coordinate(op: &op::Resize, axis: usize, [from, to]: [usize; 2], i: usize) -> f32 {
    let (from, to, x) = (from as f32, to as f32, i as f32);
    let scale = op.scales.get(axis).copied().unwrap_or(to / from);
    match op.coordinate {
        Coordinate::PytorchHalfPixel if to <= 1.0 => 0.0,
        Coordinate::HalfPixel | Coordinate::PytorchHalfPixel => (x + 0.5) / scale - 0.5,
        Coordinate::AlignCorners if to <= 1.0 => 0.0,
        Coordinate::AlignCorners => x * (from - 1.0) / (to - 1.0),
        Coordinate::Asymmetric => x / scale,
    }
}

impl Step for Resize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        by_width!(self.elem, T => {
            let input = io.input::<T>(0)?;
            strided::pick(&self.dims, &self.picks, input, io.output::<T>()?)
        })
    }
}
