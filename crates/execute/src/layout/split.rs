//! Splits a tensor along one axis.

use super::{by_width, strided};
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step, elements_mut};
use strait_core::{Elem, op};

struct Split {
    elem: Elem,
    /// For each result: the number of its elements for each position of the axes before the split one.
    blocks: Vec<usize>,
}

pub(crate) fn prepare(op: &op::Split, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let x = site.input(0)?;
    let axis = strided::axis(op.axis, x.dims.len())?;
    Ok(Box::new(Split {
        elem: x.elem,
        blocks: site
            .outputs
            .iter()
            .map(|slot| slot.dims[axis..].iter().product())
            .collect(),
    }))
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
