//! Integer to float, where the integer graph ends or a host's operator begins.

use super::Prepared;
use super::affine::{Code, dequantize};
use crate::elementwise::for_each_piece;
use crate::error::StepError;
use crate::reference::Grids;
use crate::site::Site;
use crate::step::{Io, Step};
use strait_requantize::IntType;

struct Dequantize {
    grids: Grids,
    from: IntType,
}

pub(crate) fn prepare(site: &Site<'_>) -> Prepared {
    let x = site.input(0)?;
    let from = x.elem.int_type();
    Ok(Some(Box::new(Dequantize {
        grids: Grids::of(x)?,
        from: from.ok_or_else(|| StepError::Model(format!("{} has no codes", x.elem)))?,
    })))
}

impl Dequantize {
    fn read<T: Code>(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let codes = io.input::<T>(0)?;
        let grids = &self.grids;
        for_each_piece(io.output::<f32>()?, grids.piece(), |first, out| {
            dequantize(grids.at(first), &codes[first..first + out.len()], out);
            Ok(())
        })
    }
}

impl Step for Dequantize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        match self.from {
            IntType::I8 => self.read::<i8>(io),
            IntType::U8 => self.read::<u8>(io),
            IntType::I16 => self.read::<i16>(io),
            IntType::I32 => self.read::<i32>(io),
        }
    }
}
