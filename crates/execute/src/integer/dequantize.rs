//! Integer to float, where the integer graph ends or a host's operator begins.

use super::Prepared;
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
    fn read<T: bytemuck::Pod + Into<i32> + Sync>(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let codes = io.input::<T>(0)?;
        let grids = &self.grids;
        for_each_piece(io.output::<f32>()?, grids.piece(), |first, out| {
            let grid = grids.at(first);
            let codes = &codes[first..first + out.len()];
            out.iter_mut()
                .zip(codes)
                .for_each(|(x, &q)| *x = grid.dequantize(q.into()));
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
