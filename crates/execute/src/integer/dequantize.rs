//! Dequantizes integers to floats, at the end of the integer graph or before an operator on the host.

use super::operands::Prepared;
use crate::prelude::*;
use crate::reference::{Grid, Grids, dequantize};
use strait_kernels::mixed::{self, CodeSlice};
use strait_requantize::IntType;

impl Executable for op::Dequantize {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        unsupported(site)
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        match x.elem {
            Elem::I64 => Scratch::run(times(count(x), WORD)),
            _ => Scratch::default(),
        }
    }
}

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Prepared {
    let x = site.input(0)?;
    let grids = Grids::of(x)?;
    let extents = grids.extents(x.count());
    let single = grids.is_single();
    step(site, &grids, extents, single)
}

/// Prepares the step for an image whose channels are last and have a grid each.
pub(crate) fn prepare_last(site: &NodeSlots<'_>) -> Prepared {
    let x = site.input(0)?;
    let grids = Grids::of(x)?;
    match (grids.extents_last(&x.dims), x.elem.int_type()) {
        (Some(extents), Some(_)) => step(site, &grids, extents, false),
        _ => Ok(None),
    }
}

/// Prepares the step. If one grid serves all elements (`single`), their order does not matter.
fn step(site: &NodeSlots<'_>, grids: &Grids, extents: [usize; 3], single: bool) -> Prepared {
    let x = site.input(0)?;
    let from = x.elem.int_type();
    let kernel = mixed::Dequantize::new(&grids.per(Grid::dequantization))?;
    let from = from.ok_or_else(|| StepError::Model(format!("{} has no codes", x.elem)))?;
    let run = move |io: &mut Io<'_>| {
        let codes = match from {
            IntType::I8 | IntType::I4 => CodeSlice::I8(io.input(0)?),
            IntType::U8 | IntType::U4 => CodeSlice::U8(io.input(0)?),
            IntType::I16 => CodeSlice::I16(io.input(0)?),
            IntType::U16 => CodeSlice::U16(io.input(0)?),
            IntType::I32 => CodeSlice::I32(io.input(0)?),
        };
        Ok(kernel.run(io.context, extents, codes, io.output()?)?)
    };
    Ok(Some(if single { elementwise(run) } else { reading(1, run) }))
}

/// Dequantizes i64 accumulators by the reference definition.
pub(crate) fn wide(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let grids = Grids::of(site.input(0)?)?;
    Ok(reading(1, move |io| {
        let reals = dequantize(&grids, io.input(0)?);
        io.output::<f32>()?.copy_from_slice(&reals);
        Ok(())
    }))
}
