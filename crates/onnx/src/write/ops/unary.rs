//! Writes functions of one variable.

use super::{At, scalar, with_lists};
use crate::error::WriteError;
use crate::proto::AttributeProto;
use crate::write::attributes::float;
use crate::write::emitter::{Emitter, RUNTIME_DOMAIN};
use strait_core::Elem;
use strait_core::op::Function;

/// The operator for a function, if operator set 17 has one.
fn operator(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::Sigmoid => "Sigmoid",
        Function::Tanh => "Tanh",
        Function::HardSwish => "HardSwish",
        Function::Softplus => "Softplus",
        Function::Exp => "Exp",
        Function::Log => "Log",
        Function::Sqrt => "Sqrt",
        Function::Reciprocal => "Reciprocal",
        Function::Erf => "Erf",
        Function::Neg => "Neg",
        Function::Abs => "Abs",
        Function::Floor => "Floor",
        Function::Ceil => "Ceil",
        Function::Round => "Round",
        Function::Sign => "Sign",
        Function::Sin => "Sin",
        Function::Cos => "Cos",
        Function::Tan => "Tan",
        Function::Asin => "Asin",
        Function::Acos => "Acos",
        Function::Atan => "Atan",
        Function::Sinh => "Sinh",
        Function::Cosh => "Cosh",
        Function::Asinh => "Asinh",
        Function::Acosh => "Acosh",
        Function::Atanh => "Atanh",
        Function::Silu | Function::Mish | Function::Gelu | Function::GeluTanh => return None,
    })
}

pub(super) fn unary(emitter: &mut Emitter<'_>, at: At<'_>, function: Function) -> Result<(), WriteError> {
    if let Some(op) = operator(function) {
        return with_lists(emitter, at, op, vec![], &[]);
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

/// The operator of ONNX Runtime's domain that computes a function, with its attributes.
///
/// ONNX Runtime gives each reader of a dequantized value a DequantizeLinear of its own. It then does not see that the
/// operators of a composed function all read the same value, and runs them one by one. So the function is written as
/// one operator. The file also contains its definition, for runtimes that do not know it.
fn kernel(function: Function) -> Option<(&'static str, Vec<AttributeProto>)> {
    match function {
        Function::Silu => Some(("QuickGelu", vec![float("alpha", 1.0)])),
        Function::Gelu => Some(("Gelu", vec![])),
        Function::GeluTanh => Some(("FastGelu", vec![])),
        _ => None,
    }
}

/// Writes a function that operator set 17 lacks as a product of two factors.
fn taken_apart(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    function: Function,
    x: String,
) -> Result<Vec<String>, WriteError> {
    let (elem, _) = at.operand_type(emitter);
    // All of these are x times a factor, in a form that the rule `function` and other tools recognize.
    let factor = match function {
        Function::Mish => {
            let softplus = emitter.step("Softplus", at.name, vec![x.clone()], vec![]);
            emitter.step("Tanh", at.name, vec![softplus], vec![])
        }
        Function::Gelu => {
            // (1 + erf(x/√2))/2
            let root = scalar(emitter, at, "root", elem, std::f32::consts::FRAC_1_SQRT_2)?;
            let scaled = emitter.step("Mul", at.name, vec![x.clone(), root], vec![]);
            let erf = emitter.step("Erf", at.name, vec![scaled], vec![]);
            half_of_one_plus(emitter, at, elem, erf)?
        }
        Function::GeluTanh => {
            // (1 + tanh(√(2/π)·(x + 0.044715·x³)))/2
            let root = (2.0 / std::f64::consts::PI).sqrt();
            let root = scalar(emitter, at, "root", elem, root as f32)?;
            let factor = scalar(emitter, at, "cubic", elem, 0.044_715)?;
            let square = emitter.step("Mul", at.name, vec![x.clone(), x.clone()], vec![]);
            let cube = emitter.step("Mul", at.name, vec![square, x.clone()], vec![]);
            let cubic = emitter.step("Mul", at.name, vec![cube, factor], vec![]);
            let sum = emitter.step("Add", at.name, vec![x.clone(), cubic], vec![]);
            let inner = emitter.step("Mul", at.name, vec![sum, root], vec![]);
            let tanh = emitter.step("Tanh", at.name, vec![inner], vec![]);
            half_of_one_plus(emitter, at, elem, tanh)?
        }
        _ => emitter.step("Sigmoid", at.name, vec![x.clone()], vec![]),
    };
    Ok(vec![x, factor])
}

/// Writes (1 + y)/2.
fn half_of_one_plus(emitter: &mut Emitter<'_>, at: At<'_>, elem: Elem, y: String) -> Result<String, WriteError> {
    let one = scalar(emitter, at, "one", elem, 1.0)?;
    let half = scalar(emitter, at, "half", elem, 0.5)?;
    let sum = emitter.step("Add", at.name, vec![y, one], vec![]);
    Ok(emitter.step("Mul", at.name, vec![sum, half], vec![]))
}
