//! Selects elements from one of two operands by a condition.

use super::{by_width, strided};
use crate::prelude::*;

impl Executable for op::Select {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let result = site.output()?.dims.clone();
        let operand = |index: usize| strided::repeated(&site.input(index)?.dims, &result);
        let elem = site.input(1)?.elem;
        let strides = [operand(0)?, operand(1)?, operand(2)?, strided::strides(&result)];
        Ok(reading(3, move |io| {
            by_width!(elem, T => {
                let (condition, a, b) = (io.input::<u8>(0)?, io.input::<T>(1)?, io.input::<T>(2)?);
                let (out, strides) = (io.output::<T>()?, strides.each_ref().map(|of| &of[..]));
                strided::rows(&result, strides, [0; 4], |length, starts, strides| {
                    for i in 0..length {
                        let [c, a_at, b_at, to] = std::array::from_fn(|n| starts[n] + i * strides[n]);
                        out[to] = if condition[c] != 0 { a[a_at] } else { b[b_at] };
                    }
                });
            });
            Ok(())
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}
