//! Reads functions of one operand, applied to each element or along the last axis.

use strait_core::op::{
    Add, Binary, BinaryFunction, Clip, Compare, Elu, Function, LeakyRelu, Mul, Reduction, Relation, Relu, Softmax, Sub,
    Unary,
};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("Abs", |node| unary(node, Function::Abs)),
    ("Acos", |node| unary(node, Function::Acos)),
    ("Acosh", |node| unary(node, Function::Acosh)),
    ("Asin", |node| unary(node, Function::Asin)),
    ("Asinh", |node| unary(node, Function::Asinh)),
    ("Atan", |node| unary(node, Function::Atan)),
    ("Atanh", |node| unary(node, Function::Atanh)),
    ("Ceil", |node| unary(node, Function::Ceil)),
    ("Cos", |node| unary(node, Function::Cos)),
    ("Cosh", |node| unary(node, Function::Cosh)),
    ("Elu", |node| node.finish(Elu { alpha: 1.0 }, &[Arg::Operand(0)])),
    ("Erf", |node| unary(node, Function::Erf)),
    ("Exp", |node| unary(node, Function::Exp)),
    ("Expm1", expm1),
    ("Floor", |node| unary(node, Function::Floor)),
    ("Inv", |node| unary(node, Function::Reciprocal)),
    ("IsFinite", is_finite),
    ("IsInf", is_infinite),
    ("IsNan", is_nan),
    ("LeakyRelu", |node| {
        let alpha = node.float("alpha")?.unwrap_or(0.2);
        node.finish(LeakyRelu { alpha }, &[Arg::Operand(0)])
    }),
    ("Log", |node| unary(node, Function::Log)),
    ("Log1p", log1p),
    ("LogSoftmax", log_softmax),
    ("Neg", |node| unary(node, Function::Neg)),
    ("Reciprocal", |node| unary(node, Function::Reciprocal)),
    ("Relu", relu),
    ("Relu6", |node| {
        node.finish(Clip { min: 0.0, max: 6.0 }, &[Arg::Operand(0)])
    }),
    ("Rint", |node| unary(node, Function::Round)),
    ("Round", |node| unary(node, Function::Round)),
    ("Rsqrt", rsqrt),
    ("Selu", selu),
    ("Sigmoid", |node| unary(node, Function::Sigmoid)),
    ("Sign", |node| unary(node, Function::Sign)),
    ("Sin", |node| unary(node, Function::Sin)),
    ("Sinh", |node| unary(node, Function::Sinh)),
    ("Softmax", |node| node.finish(Softmax { axis: -1 }, &[Arg::Operand(0)])),
    ("Softplus", |node| unary(node, Function::Softplus)),
    ("Softsign", softsign),
    ("Sqrt", |node| unary(node, Function::Sqrt)),
    ("Square", |node| {
        node.finish(Mul::float(), &[Arg::Operand(0), Arg::Operand(0)])
    }),
    ("Tan", |node| unary(node, Function::Tan)),
    ("Tanh", |node| unary(node, Function::Tanh)),
];

fn unary(node: &mut Node<'_, '_>, function: Function) -> Result<(), Refusal> {
    node.finish(Unary { function }, &[Arg::Operand(0)])
}

/// For integers, ReLU is the maximum with 0.
fn relu(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    if node.ty(0)?.elem.is_float() {
        return node.finish(Relu {}, &[x]);
    }
    let zero = node.number(&x, 0.0)?;
    let function = BinaryFunction::Maximum;
    node.finish(Binary { function }, &[x, zero])
}

fn rsqrt(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let root = node.function(Function::Sqrt, &Arg::Operand(0))?;
    let function = Function::Reciprocal;
    node.finish(Unary { function }, &[root])
}

/// exp(x) − 1 loses precision near 0, because exp(x) is rounded. There we use tanh(x/2)·(exp(x) + 1), which is equal.
fn expm1(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let exponential = node.function(Function::Exp, &x)?;
    let half = node.scaled(&x, 0.5)?;
    let tangent = node.function(Function::Tanh, &half)?;
    let sum = node.shifted(&exponential, 1.0)?;
    let near = node.times(&tangent, &sum)?;
    let far = node.shifted(&exponential, -1.0)?;
    let one = node.number(&x, 1.0)?;
    let magnitude = node.function(Function::Abs, &x)?;
    let is_near = node.compare(Relation::Less, &magnitude, &one)?;
    node.finish(strait_core::op::Select {}, &[is_near, near, far])
}

/// ln(1 + x) loses precision near 0, because 1 + x is rounded. There we use 2·atanh(x / (2 + x)), which is equal.
fn log1p(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let sum = node.shifted(&x, 1.0)?;
    let far = node.function(Function::Log, &sum)?;
    let divisor = node.shifted(&x, 2.0)?;
    let quotient = node.over(&x, &divisor)?;
    let half = node.function(Function::Atanh, &quotient)?;
    let near = node.scaled(&half, 2.0)?;
    let (magnitude, bound) = (node.function(Function::Abs, &x)?, node.number(&x, 0.5)?);
    let is_near = node.compare(Relation::Less, &magnitude, &bound)?;
    node.finish(strait_core::op::Select {}, &[is_near, near, far])
}

/// x − max − ln Σ exp(x − max). Unlike the logarithm of a softmax, it loses no precision if the quotient is close to 0.
fn log_softmax(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let largest = node.reduced(Reduction::Max, &x, &[-1])?;
    let below = node.minus(&x, &largest)?;
    let exponentials = node.function(Function::Exp, &below)?;
    let sum = node.reduced(Reduction::Sum, &exponentials, &[-1])?;
    let logarithm = node.function(Function::Log, &sum)?;
    node.finish(Sub {}, &[below, logarithm])
}

/// scale·x above 0 and scale·alpha·(exp(x) − 1) elsewhere, with the constants of the paper.
fn selu(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    const SCALE: f64 = 1.050_700_987_355_480_5;
    const ALPHA: f32 = 1.673_263_2;
    let activated = node.push(Elu { alpha: ALPHA }, &[Arg::Operand(0)])?;
    let scale = node.number(&activated, SCALE)?;
    node.finish(Mul::float(), &[activated, scale])
}

/// x / (1 + |x|).
fn softsign(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let magnitude = node.function(Function::Abs, &Arg::Operand(0))?;
    let one = node.number(&magnitude, 1.0)?;
    let divisor = node.push(Add {}, &[magnitude, one])?;
    node.finish(strait_core::op::Div {}, &[Arg::Operand(0), divisor])
}

/// |x| < ∞, which is false for NaN.
fn is_finite(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let magnitude = node.function(Function::Abs, &Arg::Operand(0))?;
    let bound = node.number(&magnitude, f64::INFINITY)?;
    let relation = Relation::Less;
    node.finish(Compare { relation }, &[magnitude, bound])
}

fn is_infinite(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let magnitude = node.function(Function::Abs, &Arg::Operand(0))?;
    let bound = node.number(&magnitude, f64::INFINITY)?;
    let relation = Relation::Equal;
    node.finish(Compare { relation }, &[magnitude, bound])
}

/// Only NaN does not equal itself.
fn is_nan(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let equal = node.compare(Relation::Equal, &x, &x)?;
    let all = Arg::Constant(node.truths(&[], &[true])?);
    let function = BinaryFunction::Xor;
    node.finish(Binary { function }, &[equal, all])
}
