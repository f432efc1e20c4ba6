//! Clamps codes.

use super::operands::Prepared;
use crate::prelude::*;
use strait_kernels::integer::clamp;
use strait_requantize::IntType;

struct Clamp {
    element: IntType,
    ends: [i32; 2],
}

pub(crate) fn prepare(op: &op::Clamp, site: &NodeSlots<'_>) -> Prepared {
    let element = site.input(0)?.elem.int_type();
    let (Some(element), None) = (element, &site.fused) else {
        return Ok(None);
    };
    Ok(Some(Box::new(Clamp {
        element,
        ends: [op.min, op.max],
    })))
}

impl Step for Clamp {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(clamp(io.context, self.element, self.ends, io.input(0)?, io.output()?)?)
    }
}
