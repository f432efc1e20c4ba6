//! Writes RMS normalization, for which operator set 17 has no single operator.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::write::attributes::{int, ints};
use strait_core::op::RmsNormalization;

/// The first operator set in which the axes of ReduceMean are an operand.
const AXES_ARE_OPERAND: i64 = 18;

/// Writes x / √(mean(x²) + epsilon) · scale.
impl Operator for RmsNormalization {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let (elem, rank) = at.operand_type(emitter);
        let first = if self.axis < 0 {
            self.axis + rank as i64
        } else {
            self.axis
        };
        let axes: Vec<i64> = (first..rank as i64).collect();
        let (x, scale, outputs) = (at.input(emitter, 0), at.input(emitter, 1), at.outputs(emitter));
        let square = emitter.step("Mul", at.name, vec![x.clone(), x.clone()], vec![]);
        let mean = match emitter.opset < AXES_ARE_OPERAND {
            true => emitter.step(
                "ReduceMean",
                at.name,
                vec![square],
                vec![int("keepdims", true), ints("axes", &axes)],
            ),
            false => {
                let axes = emitter.ints(&format!("{}_axes", at.name), &axes);
                emitter.step("ReduceMean", at.name, vec![square, axes], vec![int("keepdims", true)])
            }
        };
        let epsilon = at.scalar(emitter, "epsilon", elem, self.epsilon)?;
        let sum = emitter.step("Add", at.name, vec![mean, epsilon], vec![]);
        let root = emitter.step("Sqrt", at.name, vec![sum], vec![]);
        let normal = emitter.step("Div", at.name, vec![x, root], vec![]);
        emitter.node("Mul", at.name, vec![normal, scale], outputs, vec![]);
        Ok(())
    }
}
