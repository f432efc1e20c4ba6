//! Permutes axes.

use super::{by_width, strided};
use crate::prelude::*;
use crate::tensor::Dims;

/// Permutes axes. The fields are the extents of the result, and the strides of these axes in the operand and in the
/// result.
struct Transpose {
    elem: Elem,
    result: Dims,
    strides: [Dims; 2],
}

impl Executable for op::Transpose {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, result) = (site.input(0)?, site.output()?.dims.clone());
        let own = strided::strides(&x.dims);
        let moved = self.permutation.iter().map(|&axis| own[axis as usize]).collect();
        Ok(Box::new(Transpose {
            elem: x.elem,
            strides: [moved, strided::strides(&result)],
            result,
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}

impl Step for Transpose {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        by_width!(self.elem, T => {
            let input = io.input::<T>(0)?;
            strided::copy(&self.result, (input, 0, &self.strides[0]), (io.output::<T>()?, 0, &self.strides[1]));
        });
        Ok(())
    }
}
