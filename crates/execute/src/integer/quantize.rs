//! Quantizes floats to integers, at the begin of the integer graph.

use super::operands::Prepared;
use crate::prelude::*;
use crate::reference::Grids;
use strait_kernels::mixed;

impl Executable for op::Quantize {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let out = site.output()?;
        let grids = Grids::of(out)?;
        let extents = grids.extents(out.count());
        step(self, site, &grids, extents)
    }
}

/// Prepares the step for an image whose channels are last and have a grid each. `None` if its grids are others.
pub(crate) fn prepare_last(op: &op::Quantize, site: &NodeSlots<'_>) -> Prepared {
    let out = site.output()?;
    let grids = Grids::of(out)?;
    let extents = grids.extents_last(&out.dims);
    extents.map(|extents| step(op, site, &grids, extents)).transpose()
}

/// Prepares the step. If one grid serves all elements, their order does not matter.
fn step(
    op: &op::Quantize,
    site: &NodeSlots<'_>,
    grids: &Grids,
    extents: [usize; 3],
) -> Result<Box<dyn Step>, StepError> {
    let out = site.output()?;
    let to = out.elem.int_type();
    let to = to.ok_or_else(|| StepError::Model(format!("{} has no codes", out.elem)))?;
    let kernel = mixed::Quantize::new(&grids.per(|grid| grid.quantization(op, to)))?;
    let run = move |io: &mut Io<'_>| Ok(kernel.run(io.context, extents, io.input(0)?, io.output()?)?);
    Ok(if grids.is_single() {
        elementwise(run)
    } else {
        reading(1, run)
    })
}
