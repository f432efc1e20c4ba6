//! Computes the mean of each channel over all spatial axes.

use crate::layout::around;
use crate::prelude::*;
use strait_kernels::float::{Reduction, reduce};

struct GlobalAveragePool {
    extents: [usize; 3],
}

impl Executable for op::GlobalAveragePool {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let [images, channels, spatial] = around(&site.input(0)?.dims, 1);
        Ok(Box::new(GlobalAveragePool {
            extents: [images * channels, spatial, 1],
        }))
    }
}

impl Step for GlobalAveragePool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(reduce(
            io.context,
            Reduction::Mean,
            self.extents,
            io.input(0)?,
            io.output()?,
        )?)
    }
}
