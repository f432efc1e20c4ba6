//! Sum, difference, product, quotient and power of two operands.

use crate::elementwise::Broadcast;
use crate::prelude::*;
use strait_kernels::float::pow;

struct Arithmetic<F> {
    broadcast: Broadcast,
    function: F,
}

macro_rules! arithmetic {
    ($($op:ident: $function:expr;)*) => { $(impl Executable for op::$op {
        fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
            Ok(Box::new(Arithmetic {
                broadcast: Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?,
                function: $function,
            }))
        }

        // If other steps are fused into an integer addition, they need a copy of the sums.
        fn scratch(&self, x: &TensorType, y: &TensorType, types: &Types<'_>) -> Scratch {
            Scratch::run(if types.fused { times(count(y), x.elem.size() as u64) } else { 0 })
        }
    })* };
}
arithmetic! {
    Add: |a, b| a + b;
    Sub: |a, b| a - b;
    Mul: |a, b| a * b;
    Div: |a, b| a / b;
    Pow: pow;
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
