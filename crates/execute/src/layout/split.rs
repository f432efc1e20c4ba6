//! Splits a tensor along one axis.

use super::{by_width, strided};
use crate::prelude::*;
use crate::step::elements_mut;

struct Split {
    elem: Elem,
    /// For each result: the number of its elements for each position along the axes before the split axis.
    blocks: Vec<usize>,
}

impl Executable for op::Split {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let axis = strided::axis(self.axis, x.dims.len())?;
        Ok(Box::new(Split {
            elem: x.elem,
            blocks: site
                .outputs
                .iter()
                .map(|slot| slot.dims[axis..].iter().product())
                .collect(),
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}

impl Step for Split {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        by_width!(self.elem, T => {
            let input = io.input::<T>(0)?;
            let row: usize = self.blocks.iter().sum();
            let mut before = 0;
            for (out, &block) in io.outputs.iter_mut().zip(&self.blocks) {
                if block > 0 {
                    let out = elements_mut::<T>(out)?;
                    for (out, input) in out.chunks_exact_mut(block).zip(input.chunks_exact(row)) {
                        out.copy_from_slice(&input[before..before + block]);
                    }
                }
                before += block;
            }
        });
        Ok(())
    }
}
