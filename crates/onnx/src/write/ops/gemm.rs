//! Writes the fully connected layer.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::write::attributes::{float, int, ints};
use strait_core::Elem;
use strait_core::op::Gemm;

/// Writes a matrix product with a bias. ONNX's Gemm takes only matrices. If `a` has another rank, a MatMul and an Add
/// are written instead: a·b·alpha + bias·beta. Before them, `b` is transposed, unless the file already has it
/// transposed.
impl Operator for Gemm {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        if !self.weight_zero.is_zero() {
            return Err(at.without_operator());
        }
        let (elem, rank) = at.operand_type(emitter);
        let is_turned = emitter.is_turned(at.node.inputs.get(1).copied().flatten());
        emitter.weight_only |= is_turned && at.is_dequantized(emitter, 1) && !at.is_dequantized(emitter, 0);
        if rank == 2 {
            let attributes = vec![
                float("alpha", self.alpha),
                float("beta", self.beta),
                int("transA", self.transpose_a),
                int("transB", self.transpose_b && !is_turned),
            ];
            return at.plain(emitter, "Gemm", attributes);
        }
        let mut b = at.input(emitter, 1);
        if self.transpose_b && !is_turned {
            b = emitter.step("Transpose", at.name, vec![b], vec![ints("perm", &[1i64, 0])]);
        }
        let (a, bias, outputs) = (at.input(emitter, 0), at.input(emitter, 2), at.outputs(emitter));
        if bias.is_empty() && self.alpha == 1.0 {
            emitter.node("MatMul", at.name, vec![a, b], outputs, vec![]);
            return Ok(());
        }
        let product = emitter.step("MatMul", at.name, vec![a, b], vec![]);
        if bias.is_empty() {
            let alpha = at.scalar(emitter, "alpha", elem, self.alpha)?;
            emitter.node("Mul", at.name, vec![product, alpha], outputs, vec![]);
            return Ok(());
        }
        let product = scaled(emitter, at, product, ("alpha", self.alpha), elem)?;
        let bias = scaled(emitter, at, bias, ("beta", self.beta), elem)?;
        emitter.node("Add", at.name, vec![product, bias], outputs, vec![]);
        Ok(())
    }
}

/// Writes the product of a value and a factor. If the factor is 1, no operator is written, and the result is the value
/// itself. Any other factor becomes a named constant.
fn scaled(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    value: String,
    (name, factor): (&str, f32),
    elem: Elem,
) -> Result<String, WriteError> {
    if factor == 1.0 {
        return Ok(value);
    }
    let factor = at.scalar(emitter, name, elem, factor)?;
    Ok(emitter.step("Mul", at.name, vec![value, factor], vec![]))
}
