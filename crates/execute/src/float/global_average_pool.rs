//! Computes the mean of each channel over all spatial axes.

use crate::layout::around;
use crate::prelude::*;
use strait_kernels::float::{Reduction, reduce};

/// Prepares the step for an image whose channels are last. The order of the sums is the same.
pub(crate) fn prepare_last(site: &NodeSlots<'_>) -> Result<Option<Box<dyn Step>>, StepError> {
    let [images, channels, spatial] = around(&site.input(0)?.dims, 1);
    Ok(Some(means([images, spatial, channels])))
}

impl Executable for op::GlobalAveragePool {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let [images, channels, spatial] = around(&site.input(0)?.dims, 1);
        Ok(means([images * channels, spatial, 1]))
    }
}

/// The means over the axis in the middle.
fn means(extents: [usize; 3]) -> Box<dyn Step> {
    reading(1, move |io| {
        Ok(reduce(
            io.context,
            Reduction::Mean,
            extents,
            io.input(0)?,
            io.output()?,
        )?)
    })
}
