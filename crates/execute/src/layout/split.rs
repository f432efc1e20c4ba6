//! Splits a tensor along one axis.

use super::{by_width, strided};
use crate::prelude::*;
use crate::site::Slot;
use crate::step::elements_mut;

impl Executable for op::Split {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let axis = strided::axis(self.axis, x.dims.len())?;
        let elem = x.elem;
        let block = |slot: &Slot<'_>| slot.dims[axis..].iter().product();
        let blocks: Vec<usize> = site.outputs.iter().map(block).collect();
        Ok(reading(1, move |io| {
            by_width!(elem, T => {
                let input = io.input::<T>(0)?;
                let row: usize = blocks.iter().sum();
                let mut before = 0;
                for (out, &block) in io.outputs.iter_mut().zip(&blocks) {
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
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}
