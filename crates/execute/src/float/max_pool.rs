//! Computes the maximum of each window.

use super::volume;
use crate::prelude::*;
use crate::window;
use strait_kernels::float::max_pool;

impl Executable for op::MaxPool {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        if volume::applies(site) {
            return volume::prepare_max(self, site);
        }
        let pool = window::pool(site, &self.size, &self.stride, &self.dilation, &self.pad)?;
        Ok(reading(1, move |io| {
            Ok(max_pool(io.context, &pool, io.input(0)?, io.output()?)?)
        }))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        types.windows(&self.size)
    }

    fn scratch(&self, x: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        let taps = times(sum_from(y, 2), TAPS);
        match (x.shape.len(), x.elem) {
            (5, Elem::F32) => Scratch::held(taps),
            // A run needs memory for the taps along rows and columns, for the taps along layers, and for the maxima of
            // the layers.
            (5, _) => {
                let positions = extent(y, 3).saturating_mul(extent(y, 4));
                let between = count(x) / extent(x, 3).saturating_mul(extent(x, 4)).max(1);
                let words = times(between.saturating_mul(positions), x.elem.size() as u64);
                Scratch::run(taps.saturating_add(times(positions, TAPS)).saturating_add(words))
            }
            _ => Scratch::run(taps),
        }
    }
}
