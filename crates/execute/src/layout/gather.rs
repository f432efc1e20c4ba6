//! Picks positions along one axis.

use super::{by_width, strided};
use crate::prelude::*;

struct Gather {
    elem: Elem,
    /// The product of the extents before the axis, the extent of the axis, and the product of those after it.
    extents: [usize; 3],
    /// The extent of the gathered axis, for error texts.
    positions: usize,
}

impl Executable for op::Gather {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let axis = strided::axis(self.axis, x.dims.len())?;
        Ok(Box::new(Gather {
            elem: x.elem,
            extents: strided::around(&x.dims, axis),
            positions: x.dims[axis],
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, _: &TensorType, _: &TensorType, types: &Types<'_>) -> Scratch {
        Scratch::run(times(types.elements(1), WORD))
    }
}

impl Step for Gather {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let indices = io.input::<i64>(1)?;
        let [_, extent, inner] = self.extents;
        let position = |&index: &i64| {
            let counted = if index < 0 {
                index.saturating_add(extent as i64)
            } else {
                index
            };
            usize::try_from(counted).ok().filter(|&p| p < extent).ok_or_else(|| {
                StepError::Model(format!(
                    "index {index} is outside an axis of {} positions",
                    self.positions
                ))
            })
        };
        let positions = indices.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        if inner == 0 || positions.is_empty() {
            return Ok(());
        }
        by_width!(self.elem, T => {
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
    }
}
