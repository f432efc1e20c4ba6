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

/// Prepares the step.
fn step(
    op: &op::Quantize,
    site: &NodeSlots<'_>,
    grids: &Grids,
    extents: [usize; 3],
) -> Result<Box<dyn Step>, StepError> {
    let out = site.output()?;
    let to = out.elem.int_type();
    let to = to.ok_or_else(|| StepError::Model(format!("{} has no codes", out.elem)))?;
    Ok(Box::new(Quantizing {
        kernel: mixed::Quantize::new(&grids.per(|grid| grid.quantization(op, to)))?,
        extents,
        single: grids.is_single(),
    }))
}

struct Quantizing {
    kernel: mixed::Quantize,
    extents: [usize; 3],
    /// True if one grid serves all elements, so that their order does not matter.
    single: bool,
}

impl Step for Quantizing {
    fn reads(&self, operand: usize) -> bool {
        operand == 0
    }

    fn orders(&self) -> Orders {
        if self.single { Orders::Any } else { Orders::Planes }
    }

    fn writing_last(&self, extents: [usize; 3], stride: usize) -> Option<Box<dyn Step>> {
        // Grids of another axis than that of the channels are not those of planes.
        if !self.kernel.writes_last(extents[1], stride) || !self.single && self.extents != extents {
            return None;
        }
        let kernel = self.kernel.clone();
        Some(reading(1, move |io| {
            Ok(kernel.run_last(io.context, extents, io.input(0)?, io.output()?)?)
        }))
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(self.kernel.run(io.context, self.extents, io.input(0)?, io.output()?)?)
    }
}
