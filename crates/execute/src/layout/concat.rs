//! Joins tensors along one axis.

use super::{by_width, strided};
use crate::prelude::*;

impl Executable for op::Concat {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let result = site.output()?;
        let axis = strided::axis(self.axis, result.dims.len())?;
        let block =
            |slot: &Option<crate::site::Slot<'_>>| slot.as_ref().map_or(0, |slot| slot.dims[axis..].iter().product());
        let elem = result.elem;
        let blocks: Vec<usize> = site.inputs.iter().map(block).collect();
        Ok(reading(blocks.len(), move |io| {
            by_width!(elem, T => {
                let row: usize = blocks.iter().sum();
                let mut before = 0;
                for (operand, &block) in blocks.iter().enumerate() {
                    let input = io.input::<T>(operand)?;
                    let out = io.output::<T>()?;
                    if block > 0 {
                        for (out, input) in out.chunks_exact_mut(row).zip(input.chunks_exact(block)) {
                            out[before..before + block].copy_from_slice(input);
                        }
                    }
                    before += block;
                }
            });
            Ok(())
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}
