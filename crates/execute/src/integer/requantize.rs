//! From one grid to another.

use super::Prepared;
use crate::error::StepError;
use crate::layout::around;
use crate::site::Site;
use crate::step::{Io, Step};
use strait_core::{Fused, op};
use strait_kernels::integer::Loops;
use strait_requantize::IntType;

struct Requantize {
    element: IntType,
    /// Outer extents, channels, inner extents.
    extents: [usize; 3],
    loops: Box<dyn Loops>,
}

pub(crate) fn prepare(op: &op::Requantize, site: &Site<'_>) -> Prepared {
    // A join gives the form with a clamp; something else that is fused is a second requantization.
    let clamp = match &site.fused {
        None => None,
        Some(Fused { requant, clamp }) if *requant == op.form => *clamp,
        Some(_) => return Ok(None),
    };
    let x = site.input(0)?;
    let Some(element) = x.elem.int_type() else {
        return Ok(None);
    };
    Ok(Some(Box::new(Requantize {
        element,
        extents: match op.form.channels() {
            Some(_) => around(&x.dims, op.axis as usize),
            None => [1, 1, x.count()],
        },
        loops: site.options.loops.loops_for(&op.form, clamp)?,
    })))
}

impl Step for Requantize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input(0)?;
        let context = io.context;
        Ok(self
            .loops
            .requantize(context, self.extents, self.element, x, io.output()?)?)
    }
}
