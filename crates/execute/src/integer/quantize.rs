//! Quantizes floats to integers, where the integer graph begins.

use crate::error::StepError;
use crate::reference::Grids;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::op;
use strait_kernels::mixed;

struct Quantize {
    kernel: mixed::Quantize,
    /// Outer extents, channels, inner extents.
    extents: [usize; 3],
}

pub(crate) fn prepare(op: &op::Quantize, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let out = site.output()?;
    let to = out.elem.int_type();
    let to = to.ok_or_else(|| StepError::Model(format!("{} has no codes", out.elem)))?;
    let grids = Grids::of(out)?;
    Ok(Box::new(Quantize {
        kernel: mixed::Quantize::new(&grids.per(|grid| grid.quantization(op, to)))?,
        extents: grids.extents(out.count()),
    }))
}

impl Step for Quantize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (context, x) = (io.context, io.input(0)?);
        Ok(self.kernel.run(context, self.extents, x, io.output()?)?)
    }
}
