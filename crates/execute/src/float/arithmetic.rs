//! Sum, difference, product, quotient and power of two operands.

use crate::elementwise::Broadcast;
use crate::prelude::*;
use crate::site::Slot;
use strait_kernels::float::pow;

struct Arithmetic<F> {
    broadcast: Broadcast,
    /// True if each operand has the extents of the result, or a single element.
    alike: bool,
    function: F,
}

macro_rules! arithmetic {
    ($($op:ident: $function:expr;)*) => { $(impl Executable for op::$op {
        fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
            let dims = &site.output()?.dims;
            let alike = |slot: &Slot<'_>| slot.dims == *dims || slot.count() == 1;
            Ok(Box::new(Arithmetic {
                broadcast: Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?,
                alike: site.inputs.iter().flatten().all(alike),
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
    fn orders(&self) -> Orders {
        match self.alike {
            true => Orders::Any,
            false => Orders::Planes,
        }
    }

    fn in_place(&self) -> &[usize] {
        &[0, 1]
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (a, b) = (io.operand(0)?, io.operand(1)?);
        self.broadcast.apply(a, b, io.output()?, &self.function)
    }
}
