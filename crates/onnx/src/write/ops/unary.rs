//! Writes functions of one variable.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::functions;
use crate::proto::AttributeProto;
use crate::write::attributes::float;
use crate::write::emitter::RUNTIME_DOMAIN;
use strait_core::Elem;
use strait_core::op::{Function, Unary};

impl Operator for Unary {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let function = self.function;
        if let Some(op) = functions::operator(function) {
            return at.plain(emitter, op, vec![]);
        }
        let (x, outputs) = (at.input(emitter, 0), at.outputs(emitter));
        let Some((kernel, attributes)) = kernel(function).filter(|_| at.is_dequantized(emitter, 0)) else {
            let product = taken_apart(emitter, at, function, x)?;
            emitter.node("Mul", at.name, product, outputs, vec![]);
            return Ok(());
        };
        emitter.define(kernel, &attributes, |emitter, x, y| {
            let product = taken_apart(emitter, At { name: kernel, ..at }, function, x)?;
            emitter.node("Mul", kernel, product, vec![y], vec![]);
            Ok(())
        })?;
        emitter.node_of(RUNTIME_DOMAIN, kernel, at.name, vec![x], outputs, attributes);
        Ok(())
    }
}

/// Returns the operator in ONNX Runtime's domain that computes the function, and the attributes of the operator.
/// Returns `None` if there is no such operator.
///
/// ONNX Runtime gives each reader of a dequantized value a DequantizeLinear of its own. If several operators were
/// written for a function, ONNX Runtime would not see that they read the same value, and would run them one by one. So
/// the function is written as one operator. The file also contains the operator's definition, for runtimes that do not
/// know the operator.
fn kernel(function: Function) -> Option<(&'static str, Vec<AttributeProto>)> {
    match function {
        Function::Silu => Some(("QuickGelu", vec![float("alpha", 1.0)])),
        Function::Gelu => Some(("Gelu", vec![])),
        Function::GeluTanh => Some(("FastGelu", vec![])),
        _ => None,
    }
}

/// Writes a function that operator set 17 lacks as the product of its operand and a factor.
fn taken_apart(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    function: Function,
    x: String,
) -> Result<Vec<String>, WriteError> {
    let (elem, _) = at.operand_type(emitter);
    // Each of the functions below is x times a factor. The factor is written in a form that the rewrite rule `function`
    // and other tools recognize.
    let factor = match function {
        Function::Mish => {
            let softplus = emitter.step("Softplus", at.name, vec![x.clone()], vec![]);
            emitter.step("Tanh", at.name, vec![softplus], vec![])
        }
        Function::Gelu => {
            // The factor is (1 + erf(x/√2))/2.
            let root = at.scalar(emitter, "root", elem, std::f32::consts::FRAC_1_SQRT_2)?;
            let scaled = emitter.step("Mul", at.name, vec![x.clone(), root], vec![]);
            let erf = emitter.step("Erf", at.name, vec![scaled], vec![]);
            half_of_one_plus(emitter, at, elem, erf)?
        }
        Function::GeluTanh => {
            // The factor is (1 + tanh(√(2/π)·(x + 0.044715·x³)))/2.
            let root = (2.0 / std::f64::consts::PI).sqrt();
            let root = at.scalar(emitter, "root", elem, root as f32)?;
            let factor = at.scalar(emitter, "cubic", elem, 0.044_715)?;
            let square = emitter.step("Mul", at.name, vec![x.clone(), x.clone()], vec![]);
            let cube = emitter.step("Mul", at.name, vec![square, x.clone()], vec![]);
            let cubic = emitter.step("Mul", at.name, vec![cube, factor], vec![]);
            let sum = emitter.step("Add", at.name, vec![x.clone(), cubic], vec![]);
            let inner = emitter.step("Mul", at.name, vec![sum, root], vec![]);
            let tanh = emitter.step("Tanh", at.name, vec![inner], vec![]);
            half_of_one_plus(emitter, at, elem, tanh)?
        }
        Function::Silu => emitter.step("Sigmoid", at.name, vec![x.clone()], vec![]),
        _ => return Err(at.without_operator()),
    };
    Ok(vec![x, factor])
}

/// Writes (1 + y)/2.
fn half_of_one_plus(emitter: &mut Emitter<'_>, at: At<'_>, elem: Elem, y: String) -> Result<String, WriteError> {
    let one = at.scalar(emitter, "one", elem, 1.0)?;
    let half = at.scalar(emitter, "half", elem, 0.5)?;
    let sum = emitter.step("Add", at.name, vec![y, one], vec![]);
    Ok(emitter.step("Mul", at.name, vec![sum, half], vec![]))
}
