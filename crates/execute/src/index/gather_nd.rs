//! GatherND: picks slices by coordinates.

use super::slices;
use crate::layout::by_width;
use crate::prelude::*;
use crate::tensor::Dims;

impl Executable for op::GatherNd {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, indices) = (site.input(0)?, site.input(1)?);
        let batch = self.batch as usize;
        let named = indices.dims.last().copied().unwrap_or(0) + batch;
        if named > x.dims.len() {
            return Err(StepError::Model(format!(
                "{named} coordinates of {} axes",
                x.dims.len()
            )));
        }
        let elem = x.elem;
        let slice: usize = x.dims[named..].iter().product();
        // The extents of the axes to which the coordinates belong.
        let named: Dims = x.dims[batch..named].into();
        // The number of batch entries. Coordinates pick slices of their own batch entry.
        let batch: usize = x.dims[..batch].iter().product();
        Ok(reading(2, move |io| {
            let indices = io.input::<i64>(1)?;
            let (each, picks) = (named.iter().product::<usize>() * slice, indices.len() / batch.max(1));
            by_width!(elem, T => {
                let x = io.input::<T>(0)?;
                let out = io.output::<T>()?;
                if named.is_empty() {
                    // If there are no coordinates, each slice is a whole batch entry.
                    let copies = out.len() / x.len().max(1);
                    for (from, to) in x.chunks_exact(each.max(1)).zip(out.chunks_exact_mut((each * copies).max(1))) {
                        to.chunks_exact_mut(each.max(1)).for_each(|to| to.copy_from_slice(from));
                    }
                    return Ok(());
                }
                let mut out = out.chunks_exact_mut(slice.max(1));
                for (index, indices) in indices.chunks_exact(picks.max(1)).enumerate() {
                    for (place, out) in slices(&named, slice, indices).zip(&mut out) {
                        let from = index * each + place?;
                        out.copy_from_slice(&x[from..from + slice]);
                    }
                }
            });
            Ok(())
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        Scratch::run(times(x.shape.len() as u64, 4 * WORD))
    }
}
