//! Selects elements from one of two operands by a condition.

use super::{by_width, strided};
use crate::prelude::*;
use crate::tensor::Dims;

/// Selects elements. The fields are the extents of the result, and the strides of these axes in each of the three
/// operands and in the result.
struct Select {
    elem: Elem,
    result: Dims,
    strides: [Dims; 4],
}

impl Executable for op::Select {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let result = site.output()?.dims.clone();
        let operand = |index: usize| strided::repeated(&site.input(index)?.dims, &result);
        Ok(Box::new(Select {
            elem: site.input(1)?.elem,
            strides: [operand(0)?, operand(1)?, operand(2)?, strided::strides(&result)],
            result,
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}

impl Step for Select {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        by_width!(self.elem, T => {
            let (condition, a, b) = (io.input::<u8>(0)?, io.input::<T>(1)?, io.input::<T>(2)?);
            let (out, strides) = (io.output::<T>()?, self.strides.each_ref().map(|of| &of[..]));
            strided::rows(&self.result, strides, [0; 4], |length, starts, strides| {
                for i in 0..length {
                    let [c, a_at, b_at, to] = std::array::from_fn(|n| starts[n] + i * strides[n]);
                    out[to] = if condition[c] != 0 { a[a_at] } else { b[b_at] };
                }
            });
        });
        Ok(())
    }
}
