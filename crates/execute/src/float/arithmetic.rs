//! Sum, difference, product, quotient and power of two operands.

use crate::elementwise::Broadcast;
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::Op;
use strait_kernels::float::pow;

struct Arithmetic<F> {
    broadcast: Broadcast,
    function: F,
}

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let broadcast = Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?;
    fn step<F>(broadcast: Broadcast, function: F) -> Box<dyn Step>
    where
        F: Fn(f32, f32) -> f32 + Send + Sync + 'static,
    {
        Box::new(Arithmetic { broadcast, function })
    }
    Ok(match &site.node.op {
        Op::Add(_) => step(broadcast, |a, b| a + b),
        Op::Sub(_) => step(broadcast, |a, b| a - b),
        Op::Mul(_) => step(broadcast, |a, b| a * b),
        Op::Div(_) => step(broadcast, |a, b| a / b),
        Op::Pow(_) => step(broadcast, pow),
        other => return Err(StepError::Ours(format!("{} is not arithmetic", other.name()))),
    })
}

impl<F: Fn(f32, f32) -> f32 + Send + Sync> Step for Arithmetic<F> {
    fn in_place(&self) -> &[usize] {
        &[0, 1]
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (a, b) = (io.operand(0)?, io.operand(1)?);
        self.broadcast.apply(a, b, io.output()?, &self.function)
    }
}
