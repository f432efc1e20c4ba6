//! Quantizes floats to integers, at the begin of the integer graph.

use crate::prelude::*;
use crate::reference::Grids;
use strait_kernels::mixed;

impl Executable for op::Quantize {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let out = site.output()?;
        let to = out.elem.int_type();
        let to = to.ok_or_else(|| StepError::Model(format!("{} has no codes", out.elem)))?;
        let grids = Grids::of(out)?;
        let kernel = mixed::Quantize::new(&grids.per(|grid| grid.quantization(self, to)))?;
        let extents = grids.extents(out.count());
        Ok(reading(1, move |io| {
            Ok(kernel.run(io.context, extents, io.input(0)?, io.output()?)?)
        }))
    }
}
