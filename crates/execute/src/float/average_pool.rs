//! Computes the mean of each window.

use super::volume;
use crate::prelude::*;
use crate::window;
use strait_kernels::Pool;
use strait_kernels::float::average_pool;

struct AveragePool {
    pool: Pool,
    count_padding: bool,
}

impl Executable for op::AveragePool {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        if volume::applies(site) {
            return volume::prepare_average(self, site);
        }
        Ok(Box::new(AveragePool {
            pool: window::pool(site, &self.size, &self.stride, &self.dilation, &self.pad)?,
            count_padding: self.count_include_pad,
        }))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        types.windows(&self.size)
    }

    fn scratch(&self, x: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        let taps = times(sum_from(y, 2), TAPS);
        match x.shape.len() {
            5 => Scratch::held(taps),
            _ => Scratch::run(taps),
        }
    }
}

impl Step for AveragePool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(average_pool(
            io.context,
            &self.pool,
            self.count_padding,
            io.input(0)?,
            io.output()?,
        )?)
    }
}
