//! Functions of one operand.

use super::super::Site;
use super::super::emitter::{Emitter, Refused};
use super::super::flatbuffer::{Field, Table};
use super::axis;
use strait_core::Elem;
use strait_core::layout::Order;
use strait_core::op::{Elu, Function, HardSigmoid};

/// The operator of each function. Functions that are not listed have none.
const FUNCTIONS: &[(Function, &str)] = &[
    (Function::Sigmoid, "LOGISTIC"),
    (Function::Tanh, "TANH"),
    (Function::HardSwish, "HARD_SWISH"),
    (Function::Exp, "EXP"),
    (Function::Log, "LOG"),
    (Function::Sqrt, "SQRT"),
    (Function::Neg, "NEG"),
    (Function::Abs, "ABS"),
    (Function::Floor, "FLOOR"),
    (Function::Ceil, "CEIL"),
    (Function::Round, "ROUND"),
    (Function::Sign, "SIGN"),
    (Function::Sin, "SIN"),
    (Function::Cos, "COS"),
];

pub(super) fn unary(emitter: &mut Emitter<'_>, site: &Site<'_>, function: Function) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    match function {
        // x · sigmoid(x), and 1 / x, have no operator of their own.
        Function::Silu if emitter.tensor(x).elem == Elem::F32 => {
            let gate = emitter.like(x, "sigmoid", emitter.tensor(x).shape.clone())?;
            emitter.emit("LOGISTIC", &[x], &[gate], None)?;
            let made = emitter.result(site.node)?;
            emitter.emit("MUL", &[x, gate], &[made], Some(Table::default()))
        }
        Function::Reciprocal if emitter.tensor(x).elem == Elem::F32 => {
            let one = emitter.number_like(x, 1.0)?;
            let made = emitter.result(site.node)?;
            emitter.emit("DIV", &[one, x], &[made], Some(Table::default()))
        }
        Function::Gelu | Function::GeluTanh => {
            let options = Table::default().byte(0, i8::from(function == Function::GeluTanh), 0);
            let made = emitter.result(site.node)?;
            emitter.emit("GELU", &[x], &[made], Some(options))
        }
        _ => {
            let known = FUNCTIONS.iter().find(|(own, _)| *own == function);
            let (_, name) = known.ok_or_else(|| format!("TFLite has no operator for `{}`", site.node.op.term()))?;
            let made = emitter.result(site.node)?;
            emitter.emit(name, &[x], &[made], None)
        }
    }
}

pub(super) fn leaky_relu(emitter: &mut Emitter<'_>, site: &Site<'_>, alpha: f32) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let made = emitter.result(site.node)?;
    let options = Table::default().with(0, Field::Float(alpha));
    emitter.emit("LEAKY_RELU", &[x], &[made], Some(options))
}

/// Writes an ELU of real numbers. The operator ELU has alpha = 1. With another alpha, it is
/// max(x, 0) + alpha·ELU(min(x, 0)), of which one part is always 0.
pub(super) fn elu(emitter: &mut Emitter<'_>, site: &Site<'_>, elu: &Elu) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    if elu.alpha == 1.0 {
        let made = emitter.result(site.node)?;
        return emitter.emit("ELU", &[x], &[made], None);
    }
    if emitter.tensor(x).elem != Elem::F32 {
        return Err(format!("its alpha is {}, and ELU has 1", elu.alpha));
    }
    let (zero, alpha) = (emitter.number_like(x, 0.0)?, emitter.number_like(x, elu.alpha.into())?);
    let below = emitter.step("MINIMUM", &[x, zero], "below", None)?;
    let curve = emitter.step("ELU", &[below], "curve", None)?;
    let scaled = emitter.step("MUL", &[curve, alpha], "scaled", Some(Table::default()))?;
    let above = emitter.step("RELU", &[x], "above", None)?;
    let made = emitter.result(site.node)?;
    emitter.emit("ADD", &[above, scaled], &[made], Some(Table::default()))
}

/// min(max(alpha·x + beta, 0), 1) of real numbers.
pub(super) fn hard_sigmoid(emitter: &mut Emitter<'_>, site: &Site<'_>, own: &HardSigmoid) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    if emitter.tensor(x).elem != Elem::F32 {
        return Err("LiteRT has no hard sigmoid of codes".into());
    }
    let number = |emitter: &mut Emitter<'_>, number: f32| emitter.number_like(x, number.into());
    let (alpha, beta) = (number(emitter, own.alpha)?, number(emitter, own.beta)?);
    let (zero, one) = (number(emitter, 0.0)?, number(emitter, 1.0)?);
    let scaled = emitter.step("MUL", &[x, alpha], "scaled", Some(Table::default()))?;
    let line = emitter.step("ADD", &[scaled, beta], "line", Some(Table::default()))?;
    let above = emitter.step("MAXIMUM", &[line, zero], "above", None)?;
    let made = emitter.result(site.node)?;
    emitter.emit("MINIMUM", &[above, one], &[made], None)
}

/// Writes a softmax. SOFTMAX runs along the last axis of the stored tensor. If the softmax is over another axis, the
/// tensor is transposed first, so that this axis is the last one.
pub(super) fn softmax(emitter: &mut Emitter<'_>, site: &Site<'_>, over: i64) -> Result<(), Refused> {
    let (value, result) = (emitter.operand(site.node, 0)?, site.result.ok_or("it has no result")?);
    let order = emitter.layouts.of(emitter.graph, result);
    let over = axis(over, order.axes().len())?;
    let axes: Vec<u8> = order
        .axes()
        .filter(|&own| own != over)
        .chain([over])
        .map(|axis| axis as u8)
        .collect();
    let order = Order::of(&axes);
    let x = emitter.read(value, &order)?;
    let made = emitter.define(result, order)?;
    let options = Table::default().with(0, Field::Float(1.0));
    emitter.emit("SOFTMAX", &[x], &[made], Some(options))
}

/// Writes min(max(x, low), high) if it is not the fused activation of the operator before it.
pub(super) fn clamp(emitter: &mut Emitter<'_>, site: &Site<'_>, low: f32, high: f32) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let name = match (low, high) {
        (0.0, f32::INFINITY) => Some("RELU"),
        (-1.0, 1.0) => Some("RELU_N1_TO_1"),
        (0.0, 6.0) => Some("RELU6"),
        _ => None,
    };
    let tensor = emitter.tensor(x);
    if let (Some(name), Elem::F32) = (name, tensor.elem) {
        let made = emitter.result(site.node)?;
        return emitter.emit(name, &[x], &[made], None);
    }
    // On codes the bounds are codes, rounded half away from zero, as QUANTIZE rounds.
    let bounds = match (tensor.elem, &tensor.grid) {
        (Elem::F32, _) => [low, high].map(|bound| bound.is_finite().then_some(f64::from(bound))),
        (elem, Some(grid)) => {
            let (scale, zero) = grid.as_tensor().ok_or("its operand has several scales")?;
            let (least, greatest) = elem.integers().ok_or("its operand has no codes")?;
            let code = |bound: f32| ((bound / scale).round() as i64).saturating_add(zero.into());
            let [low, high] = [(low, least), (high, greatest)];
            [
                Some(code(low.0))
                    .filter(|&code| low.0.is_finite() && code > low.1)
                    .map(|code| code as f64),
                Some(code(high.0))
                    .filter(|&code| high.0.is_finite() && code < high.1)
                    .map(|code| code as f64),
            ]
        }
        _ => return Err("its operand has no grid".into()),
    };
    let steps: Vec<(&'static str, f64)> = ["MAXIMUM", "MINIMUM"]
        .into_iter()
        .zip(bounds)
        .filter_map(|(name, bound)| Some((name, bound?)))
        .collect();
    let result = site.result.ok_or("it has no result")?;
    let Some(((last, bound), first)) = steps.split_last() else {
        // No code is outside of the bounds.
        let order = emitter.layouts.of(emitter.graph, result);
        emitter.alias(result, order, x);
        return Ok(());
    };
    let mut x = x;
    for (name, bound) in first {
        let bound = emitter.number_like(x, *bound)?;
        let next = emitter.like(x, "clamped", emitter.tensor(x).shape.clone())?;
        emitter.emit(name, &[x, bound], &[next], None)?;
        x = next;
    }
    let bound = emitter.number_like(x, *bound)?;
    let made = emitter.result(site.node)?;
    emitter.emit(last, &[x, bound], &[made], None)
}
