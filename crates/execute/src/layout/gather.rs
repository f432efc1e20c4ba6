//! Picks positions along one axis.

use super::{by_width, strided};
use crate::prelude::*;

impl Executable for op::Gather {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let axis = strided::axis(self.axis, x.dims.len())?;
        let elem = x.elem;
        let [_, extent, inner] = strided::around(&x.dims, axis);
        Ok(reading(2, move |io| {
            let indices = io.input::<i64>(1)?.iter();
            let positions = indices.map(|&index| strided::position(index, extent));
            let positions = positions.collect::<Result<Vec<_>, _>>()?;
            if inner == 0 || positions.is_empty() {
                return Ok(());
            }
            by_width!(elem, T => {
                let input = io.input::<T>(0)?;
                let out = io.output::<T>()?;
                let rows = out.chunks_exact_mut(positions.len() * inner);
                for (out, input) in rows.zip(input.chunks_exact(extent * inner)) {
                    for (out, &position) in out.chunks_exact_mut(inner).zip(&positions) {
                        out.copy_from_slice(&input[position * inner..(position + 1) * inner]);
                    }
                }
            });
            Ok(())
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, _: &TensorType, _: &TensorType, types: &Types<'_>) -> Scratch {
        Scratch::run(times(types.elements(1), WORD))
    }
}
