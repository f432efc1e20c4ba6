//! Strided slice.

use super::{copies, strided};
use crate::prelude::*;
use strait_core::Dim;

impl Executable for op::Slice {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let shape: Vec<Dim> = x.dims.iter().map(|&extent| Dim::Fixed(extent as u64)).collect();
        let spans = self.spans(&shape)?;
        if spans.iter().all(|&(_, _, step, _)| step > 0) {
            let (mut start, mut from) = (0, strided::strides(&x.dims));
            for (axis, first, step, _) in spans {
                start += first as usize * from[axis];
                from[axis] = from[axis].saturating_mul(step as usize);
            }
            return Ok(copies::along(x.elem, (start, from), site.output()?.dims.clone()));
        }
        let mut picks = vec![None; x.dims.len()];
        for (axis, start, step, count) in spans {
            let position = |i: u64| start as i64 + i as i64 * step;
            picks[axis] = Some((0..count).map(|i| position(i) as usize).collect());
        }
        Ok(copies::picked(x, picks))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, _: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        Scratch::held(times(sum_from(y, 0), WORD))
    }
}
