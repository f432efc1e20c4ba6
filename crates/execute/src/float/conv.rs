//! Convolution.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::window;
use strait_core::op;
use strait_kernels::Conv;
use strait_kernels::float::conv;

struct FloatConv(Conv);

pub(crate) fn prepare(op: &op::Conv, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(FloatConv(window::conv(op, site)?)))
}

impl Step for FloatConv {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (x, weights, bias) = (io.input(0)?, io.input(1)?, io.optional(2)?);
        Ok(conv(io.context, &self.0, x, weights, bias, io.output()?)?)
    }
}
