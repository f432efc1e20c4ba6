//! Quantizes floats to integers. This happens where the integer graph begins.

use crate::prelude::*;
use crate::reference::Grids;
use strait_kernels::mixed;

struct Quantize {
    kernel: mixed::Quantize,
    /// Outer extents, channels, inner extents.
    extents: [usize; 3],
}

impl Executable for op::Quantize {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let out = site.output()?;
        let to = out.elem.int_type();
        let to = to.ok_or_else(|| StepError::Model(format!("{} has no codes", out.elem)))?;
        let grids = Grids::of(out)?;
        Ok(Box::new(Quantize {
            kernel: mixed::Quantize::new(&grids.per(|grid| grid.quantization(self, to)))?,
            extents: grids.extents(out.count()),
        }))
    }
}

impl Step for Quantize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (context, x) = (io.context, io.input(0)?);
        Ok(self.kernel.run(context, self.extents, x, io.output()?)?)
    }
}
