//! Computes the mean of each window.

use super::volume;
use crate::prelude::*;
use crate::window;
use strait_kernels::float::average_pool;

impl Executable for op::AveragePool {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        if volume::applies(site) {
            return volume::prepare_average(self, site);
        }
        let pool = window::pool(site, &self.size, &self.stride, &self.dilation, &self.pad)?;
        let count_padding = self.count_include_pad;
        Ok(reading(1, move |io| {
            Ok(average_pool(
                io.context,
                &pool,
                count_padding,
                io.input(0)?,
                io.output()?,
            )?)
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
