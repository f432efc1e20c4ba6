use super::super::{Definition, FunctionError, in_range};
use crate::{
    IntType, Rounding,
    scales::{ScaleError, positive},
};
use serde::{Deserialize, Serialize};

/// ONNX Runtime's QLinearLeakyRelu on uint8 and int8 (`onnxruntime.leaky_relu.v1`). With the operand's scale s and zero
/// point z, the result's scale s' and zero point z', the slope α, and each operation rounded to f32:
///
/// v = s·(x − z), w = v for v ≥ 0 and α·v below, y = sat(half_even(w / s') + z').
///
/// Measured with ONNX Runtime 1.31.1: 0 of 204,800 results differ. The correctly rounded function has 2,165 others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeakyReluTable {
    /// The type of operand and result, u8 or i8.
    pub elements: IntType,
    /// The slope below zero.
    pub alpha: f32,
    /// The scale of the operand.
    pub input_scale: f32,
    /// The zero point of the operand.
    pub input_zp: i32,
    /// The scale of the result.
    pub scale: f32,
    /// The zero point of the result.
    pub zp: i32,
}

impl LeakyReluTable {
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let definition = Definition::OnnxRuntimeLeakyRelu;
        if !self.alpha.is_finite() {
            let value = self.alpha;
            return Err(FunctionError::Coefficient { definition, value });
        }
        let operand = (self.input_scale, self.input_zp);
        check_table(definition, self.elements, operand, (self.scale, self.zp))
    }

    pub(super) fn value(&self, code: i32) -> i32 {
        let x = self.input_scale * (code - self.input_zp) as f32;
        let y = if x >= 0.0 { x } else { self.alpha * x };
        // The quotient may be infinite, and then saturates.
        let code = Rounding::HalfEven.round_f32(y / self.scale) + self.zp as f32;
        self.elements.saturate(code as i64)
    }
}

/// Checks type and grids of a table that ONNX Runtime computes in f32. A grid is a scale and a zero point.
pub(super) fn check_table(
    definition: Definition,
    elements: IntType,
    operand: (f32, i32),
    result: (f32, i32),
) -> Result<(), FunctionError> {
    if !matches!(elements, IntType::U8 | IntType::I8) {
        return Err(FunctionError::Elements { definition, elements });
    }
    for (what, scale) in [("input scale", operand.0), ("output scale", result.0)] {
        positive(what, scale.into()).map_err(|source: ScaleError| FunctionError::Scale { definition, source })?;
    }
    let codes = i64::from(elements.min())..=i64::from(elements.max());
    in_range(definition, "input zero point", operand.1, codes.clone())?;
    in_range(definition, "zero point", result.1, codes)
}
