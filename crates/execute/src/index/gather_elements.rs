//! GatherElements: picks one element for each index. The element has the same position as the index, except along one
//! axis, where the index is its position.

use super::places;
use crate::layout::{axis, by_width};
use crate::prelude::*;

impl Executable for op::GatherElements {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, indices) = (site.input(0)?, site.input(1)?);
        let (elem, dims, picked) = (x.elem, x.dims.clone(), indices.dims.clone());
        let axis = axis(self.axis, dims.len())?;
        Ok(reading(2, move |io| {
            let indices = io.input::<i64>(1)?;
            by_width!(elem, T => {
                let x = io.input::<T>(0)?;
                let places = places(&dims, &picked, axis, indices);
                for (out, place) in io.output::<T>()?.iter_mut().zip(places) {
                    *out = x[place?];
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
