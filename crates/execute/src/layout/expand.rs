//! Repeat along axes.

use super::{by_width, strided};
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::tensor::Dims;
use strait_core::Elem;

/// Extents of the operand and of the result.
struct Expand {
    elem: Elem,
    dims: Dims,
    result: Dims,
}

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let x = site.input(0)?;
    Ok(Box::new(Expand {
        elem: x.elem,
        dims: x.dims.clone(),
        result: site.output()?.dims.clone(),
    }))
}

impl Step for Expand {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        by_width!(self.elem, T => {
            let input = strided::view(&self.dims, io.input::<T>(0)?)?;
            let mut out = strided::view_mut(&self.result, io.output::<T>()?)?;
            let wide = input.broadcast(&self.result[..]);
            out.assign(&wide.ok_or_else(|| StepError::Ours("an operand does not broadcast".into()))?);
        });
        Ok(())
    }
}
