//! Padding and cropping.

use super::{by_width, copies, strided};
use crate::prelude::*;
use crate::site::Slot;
use crate::tensor::Dims;
use smallvec::SmallVec;
use strait_core::op::PadMode;

impl Executable for op::Pad {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, result) = (site.input(0)?, site.output()?);
        if self.mode == PadMode::Constant {
            return filled(self, x, result);
        }
        let picks = (0..x.dims.len()).map(|axis| {
            let (extent, begin) = (x.dims[axis] as i64, self.amounts[axis]);
            let position = |i: usize| {
                let at = i as i64 - begin;
                match self.mode {
                    // Mirrors at both borders. The border elements are not repeated.
                    PadMode::Reflect if at < 0 => -at,
                    PadMode::Reflect if at >= extent => 2 * (extent - 1) - at,
                    _ => at,
                }
                .clamp(0, extent - 1) as usize
            };
            let changed = (begin, self.amounts[axis + x.dims.len()]) != (0, 0);
            if changed && extent == 0 {
                return Err(StepError::Model(format!("axis {axis} has no element to repeat")));
            }
            Ok(changed.then(|| (0..result.dims[axis]).map(position).collect()))
        });
        Ok(copies::picked(x, picks.collect::<Result<_, _>>()?))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, _: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        match self.mode {
            PadMode::Constant => Scratch::default(),
            PadMode::Reflect | PadMode::Edge => Scratch::held(times(sum_from(y, 0), WORD)),
        }
    }
}

/// Pads with a constant: fills the result with this constant, then copies the elements that the operand and the result
/// have in common.
fn filled(op: &op::Pad, x: &Slot<'_>, result: &Slot<'_>) -> Result<Box<dyn Step>, StepError> {
    // The elements in common form a box with the extents `overlap`. It begins at the indices `starts` in the operand
    // and in the result.
    let strides = [strided::strides(&x.dims), strided::strides(&result.dims)];
    let (mut overlap, mut starts) = (Dims::new(), [0; 2]);
    for (axis, &begin) in op.amounts[..x.dims.len()].iter().enumerate() {
        // Finds the positions along this axis that the result and the operand have in common. A negative pad at the
        // begin crops the operand.
        let [own, wide] = [x.dims[axis] as i64, result.dims[axis] as i64];
        let first = begin.clamp(0, wide);
        let end = own.saturating_add(begin).clamp(first, wide);
        overlap.push((end - first) as usize);
        starts[0] += first.saturating_sub(begin).clamp(0, own) as usize * strides[0][axis];
        starts[1] += first as usize * strides[1][axis];
    }
    let (elem, value) = (x.elem, element(x.elem, op.value)?);
    Ok(reading(1, move |io| {
        by_width!(elem, T => {
            let value: T = bytemuck::pod_read_unaligned(&value);
            let (input, out) = (io.input::<T>(0)?, io.output::<T>()?);
            out.fill(value);
            strided::copy(&overlap, (input, starts[0], &strides[0]), (out, starts[1], &strides[1]));
        });
        Ok(())
    }))
}

/// Returns the bytes of one element. The value is an f32 even for integers, because an f32 can represent every code of
/// up to 16 bits.
fn element(elem: Elem, value: f32) -> Result<SmallVec<[u8; 8]>, StepError> {
    let bytes: &[u8] = match elem {
        Elem::F32 => &value.to_ne_bytes(),
        Elem::I8 => &(value as i8).to_ne_bytes(),
        Elem::U8 => &(value as u8).to_ne_bytes(),
        Elem::I4 => &(value as i8).clamp(-8, 7).to_ne_bytes(),
        Elem::U4 => &(value as u8).min(15).to_ne_bytes(),
        Elem::U16 => &(value as u16).to_ne_bytes(),
        Elem::I16 => &(value as i16).to_ne_bytes(),
        Elem::I32 => &(value as i32).to_ne_bytes(),
        Elem::I64 => &(value as i64).to_ne_bytes(),
        Elem::U32 => &(value as u32).to_ne_bytes(),
        Elem::U64 => &(value as u64).to_ne_bytes(),
        Elem::F64 => &f64::from(value).to_ne_bytes(),
        Elem::Bool => &[u8::from(value != 0.0)],
        Elem::F16 | Elem::BF16 => return Err(StepError::Unsupported(format!("padding of {elem}"))),
    };
    Ok(bytes.into())
}
