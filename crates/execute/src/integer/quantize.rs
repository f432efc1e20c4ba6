//! Float to integer, where the integer graph begins.

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
    fn write<T: bytemuck::Pod + Send>(&self, io: &mut Io<'_>, narrow: fn(i32) -> T) -> Result<(), StepError> {
        let x = io.input::<f32>(0)?;
        let grids = &self.grids;
        for_each_piece(io.output::<T>()?, grids.piece(), |first, out| {
            let grid = grids.at(first);
            let x = &x[first..first + out.len()];
            for (q, &x) in out.iter_mut().zip(x) {
                *q = narrow(grid.quantize(x, self.op.rounding, self.op.reciprocal, self.to));
            }
            Ok(())
        })
    }
}

impl Step for Quantize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        // The codes are of the type already.
        match self.to {
            IntType::I8 => self.write(io, |q| q as i8),
            IntType::U8 => self.write(io, |q| q as u8),
            IntType::I16 => self.write(io, |q| q as i16),
            IntType::I32 => self.write(io, |q| q),
        }
    }
}
