//! One of two operands, by a condition.

use super::{by_width, strided};
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::tensor::Dims;
use ndarray::Zip;
use strait_core::Elem;

struct Select {
    elem: Elem,
    dims: [Dims; 3],
    result: Dims,
}

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let dims = |index: usize| site.input(index).map(|slot| slot.dims.clone());
    Ok(Box::new(Select {
        elem: site.input(1)?.elem,
        dims: [dims(0)?, dims(1)?, dims(2)?],
        result: site.output()?.dims.clone(),
    }))
}

impl Step for Select {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let apart = || StepError::Ours("operands do not broadcast".into());
        by_width!(self.elem, T => {
            let condition = strided::view(&self.dims[0], io.input::<u8>(0)?)?;
            let a = strided::view(&self.dims[1], io.input::<T>(1)?)?;
            let b = strided::view(&self.dims[2], io.input::<T>(2)?)?;
            let mut out = strided::view_mut(&self.result, io.output::<T>()?)?;
            let shape = &self.result[..];
            Zip::from(&mut out)
                .and(condition.broadcast(shape).ok_or_else(apart)?)
                .and(a.broadcast(shape).ok_or_else(apart)?)
                .and(b.broadcast(shape).ok_or_else(apart)?)
                .for_each(|out, &condition, &a, &b| *out = if condition != 0 { a } else { b });
        });
        Ok(())
    }
}
