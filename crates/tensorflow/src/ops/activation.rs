//! Reads operators that apply a function to each element of one operand, or along its last axis.

use strait_core::op::{BinaryFunction, Clip, Elu, Function, LeakyRelu, Mul, Relation, Relu, Softmax};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Abs", |reader| unary(reader, Function::Abs)),
    ("Acos", |reader| unary(reader, Function::Acos)),
    ("Acosh", |reader| unary(reader, Function::Acosh)),
    ("Asin", |reader| unary(reader, Function::Asin)),
    ("Asinh", |reader| unary(reader, Function::Asinh)),
    ("Atan", |reader| unary(reader, Function::Atan)),
    ("Atanh", |reader| unary(reader, Function::Atanh)),
    ("Ceil", |reader| unary(reader, Function::Ceil)),
    ("Cos", |reader| unary(reader, Function::Cos)),
    ("Cosh", |reader| unary(reader, Function::Cosh)),
    ("Elu", |reader| reader.finish(Elu { alpha: 1.0 }, &[Arg::Operand(0)])),
    ("Erf", |reader| unary(reader, Function::Erf)),
    ("Exp", |reader| unary(reader, Function::Exp)),
    ("Expm1", expm1),
    ("Floor", |reader| unary(reader, Function::Floor)),
    ("Inv", |reader| unary(reader, Function::Reciprocal)),
    ("IsFinite", |reader| magnitude(reader, Relation::Less)),
    ("IsInf", |reader| magnitude(reader, Relation::Equal)),
    ("IsNan", is_nan),
    ("LeakyRelu", |reader| {
        let alpha = reader.float("alpha")?.unwrap_or(0.2);
        reader.finish(LeakyRelu { alpha }, &[Arg::Operand(0)])
    }),
    ("Log", |reader| unary(reader, Function::Log)),
    ("Log1p", log1p),
    ("LogSoftmax", log_softmax),
    ("Neg", |reader| unary(reader, Function::Neg)),
    ("Reciprocal", |reader| unary(reader, Function::Reciprocal)),
    ("Relu", relu),
    ("Relu6", |reader| {
        reader.finish(Clip { min: 0.0, max: 6.0 }, &[Arg::Operand(0)])
    }),
    ("Rint", |reader| unary(reader, Function::Round)),
    ("Round", |reader| unary(reader, Function::Round)),
    ("Rsqrt", rsqrt),
    ("Selu", selu),
    ("Sigmoid", |reader| unary(reader, Function::Sigmoid)),
    ("Sign", |reader| unary(reader, Function::Sign)),
    ("Sin", |reader| unary(reader, Function::Sin)),
    ("Sinh", |reader| unary(reader, Function::Sinh)),
    ("Softmax", |reader| {
        reader.finish(Softmax { axis: -1 }, &[Arg::Operand(0)])
    }),
    ("Softplus", |reader| unary(reader, Function::Softplus)),
    ("Softsign", |reader| reader.finish_softsign(Arg::Operand(0))),
    ("Sqrt", |reader| unary(reader, Function::Sqrt)),
    ("Square", |reader| {
        reader.finish(Mul::float(), &[Arg::Operand(0), Arg::Operand(0)])
    }),
    ("Tan", |reader| unary(reader, Function::Tan)),
    ("Tanh", |reader| unary(reader, Function::Tanh)),
];

fn unary(reader: &mut OperatorReader<'_, '_>, function: Function) -> Result<(), Refusal> {
    reader.finish(function, &[Arg::Operand(0)])
}

/// Reads ReLU. For integers, it becomes the maximum with 0.
fn relu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    if reader.ty(0)?.elem.is_float() {
        return reader.finish(Relu {}, &[x]);
    }
    let zero = reader.number(&x, 0.0)?;
    reader.finish(BinaryFunction::Maximum, &[x, zero])
}

fn rsqrt(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let root = reader.function(Function::Sqrt, &Arg::Operand(0))?;
    reader.finish(Function::Reciprocal, &[root])
}

/// Reads exp(x) − 1. Near 0, this formula loses precision, because exp(x) is rounded. There, the equivalent formula
/// tanh(x/2)·(exp(x) + 1) is used.
fn expm1(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let exponential = reader.function(Function::Exp, &x)?;
    let half = reader.scaled(&x, 0.5)?;
    let tangent = reader.function(Function::Tanh, &half)?;
    let sum = reader.shifted(&exponential, 1.0)?;
    let near = reader.times(&tangent, &sum)?;
    let far = reader.shifted(&exponential, -1.0)?;
    let one = reader.number(&x, 1.0)?;
    let magnitude = reader.function(Function::Abs, &x)?;
    let is_near = reader.compare(Relation::Less, &magnitude, &one)?;
    reader.finish(strait_core::op::Select {}, &[is_near, near, far])
}

/// Reads ln(1 + x). Near 0, this formula loses precision, because 1 + x is rounded. There, the equivalent formula
/// 2·atanh(x / (2 + x)) is used.
fn log1p(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let sum = reader.shifted(&x, 1.0)?;
    let far = reader.function(Function::Log, &sum)?;
    let divisor = reader.shifted(&x, 2.0)?;
    let quotient = reader.over(&x, &divisor)?;
    let half = reader.function(Function::Atanh, &quotient)?;
    let near = reader.scaled(&half, 2.0)?;
    let (magnitude, bound) = (reader.function(Function::Abs, &x)?, reader.number(&x, 0.5)?);
    let is_near = reader.compare(Relation::Less, &magnitude, &bound)?;
    reader.finish(strait_core::op::Select {}, &[is_near, near, far])
}

fn log_softmax(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (op, args) = reader.log_softmax(&Arg::Operand(0), -1)?;
    reader.finish(op, &args)
}

/// Reads SELU: scale·x where x is above 0, and scale·alpha·(exp(x) − 1) elsewhere, with the constants of the paper.
fn selu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    const SCALE: f64 = 1.050_700_987_355_480_5;
    const ALPHA: f32 = 1.673_263_2;
    let activated = reader.push(Elu { alpha: ALPHA }, &[Arg::Operand(0)])?;
    let scale = reader.number(&activated, SCALE)?;
    reader.finish(Mul::float(), &[activated, scale])
}

/// Compares |x| with infinity. Nothing compares with NaN.
fn magnitude(reader: &mut OperatorReader<'_, '_>, relation: Relation) -> Result<(), Refusal> {
    let magnitude = reader.function(Function::Abs, &Arg::Operand(0))?;
    let bound = reader.number(&magnitude, f64::INFINITY)?;
    reader.finish(relation, &[magnitude, bound])
}

/// Compares x with itself: only NaN does not equal itself.
fn is_nan(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let equal = reader.compare(Relation::Equal, &x, &x)?;
    reader.finish_negated(equal)
}
