//! Float to integer, where the integer graph begins.

use super::affine::{Code, quantize};
use crate::elementwise::for_each_piece;
use crate::error::StepError;
use crate::reference::Grids;
use crate::site::Site;
use crate::step::{Io, Step};
use strait_core::op;
use strait_requantize::IntType;

struct Quantize {
    op: op::Quantize,
    grids: Grids,
    to: IntType,
}

pub(crate) fn prepare(op: &op::Quantize, site: &Site<'_>) -> Result<Box<dyn Step>, StepError> {
    let out = site.output()?;
    let to = out.elem.int_type();
    Ok(Box::new(Quantize {
        op: op.clone(),
        grids: Grids::of(out)?,
        to: to.ok_or_else(|| StepError::Model(format!("{} has no codes", out.elem)))?,
    }))
}

impl Quantize {
    fn write<T: Code>(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<f32>(0)?;
        let grids = &self.grids;
        for_each_piece(io.output::<T>()?, grids.piece(), |first, out| {
            let x = &x[first..first + out.len()];
            quantize(grids.at(first), &self.op, self.to, x, out);
            Ok(())
        })
    }
}

impl Step for Quantize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        match self.to {
            IntType::I8 => self.write::<i8>(io),
            IntType::U8 => self.write::<u8>(io),
            IntType::I16 => self.write::<i16>(io),
            IntType::I32 => self.write::<i32>(io),
        }
    }
}
