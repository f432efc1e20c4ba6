//! Permute axes.

use super::{by_width, strided};
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::tensor::Dims;
use strait_core::{Elem, op};

struct Transpose {
    elem: Elem,
    dims: Dims,
    result: Dims,
    permutation: Vec<usize>,
}

pub(crate) fn prepare(op: &op::Transpose, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let x = site.input(0)?;
    Ok(Box::new(Transpose {
        elem: x.elem,
        dims: x.dims.clone(),
        result: site.output()?.dims.clone(),
        permutation: op.permutation.iter().map(|&axis| axis as usize).collect(),
    }))
}

impl Step for Transpose {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        by_width!(self.elem, T => {
            let input = strided::view(&self.dims, io.input::<T>(0)?)?;
            let mut out = strided::view_mut(&self.result, io.output::<T>()?)?;
            out.assign(&input.permuted_axes(&self.permutation[..]));
        });
        Ok(())
    }
}
