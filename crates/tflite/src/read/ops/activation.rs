//! Reads functions of each element.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use strait_core::op::{Add, BinaryFunction, Clip, Elu, Function, Identity, LeakyRelu, Mul, Relu};

pub(super) const ROWS: &[Row] = &[
    Row::new("RELU", 3, |reader| reader.finish(Relu {}, &[Arg::Operand(0)])),
    Row::new("RELU6", 3, |reader| clip(reader, 0.0, 6.0)),
    Row::new("RELU_N1_TO_1", 1, |reader| clip(reader, -1.0, 1.0)),
    Row::new("RELU_0_TO_1", 1, |reader| clip(reader, 0.0, 1.0)),
    Row::new("LOGISTIC", 3, |reader| function(reader, Function::Sigmoid)),
    Row::new("TANH", 3, |reader| function(reader, Function::Tanh)),
    Row::new("HARD_SWISH", 1, |reader| function(reader, Function::HardSwish)),
    Row::new("GELU", 2, |reader| {
        let options = options!(reader, GeluOptions);
        match option!(options, approximate, false) {
            true => function(reader, Function::GeluTanh),
            false => function(reader, Function::Gelu),
        }
    }),
    Row::new("ELU", 1, |reader| reader.finish(Elu { alpha: 1.0 }, &[Arg::Operand(0)])),
    Row::new("LEAKY_RELU", 2, |reader| {
        let options = options!(reader, LeakyReluOptions);
        let alpha = option!(options, alpha, 0.0);
        reader.finish(LeakyRelu { alpha }, &[Arg::Operand(0)])
    }),
    Row::new("PRELU", 1, prelu),
    Row::new("ABS", 5, |reader| function(reader, Function::Abs)),
    Row::new("NEG", 1, |reader| function(reader, Function::Neg)),
    Row::new("EXP", 2, |reader| function(reader, Function::Exp)),
    Row::new("LOG", 2, |reader| function(reader, Function::Log)),
    Row::new("SQRT", 2, |reader| function(reader, Function::Sqrt)),
    Row::new("RSQRT", 3, |reader| {
        let root = reader.function(Function::Sqrt, &Arg::Operand(0))?;
        reader.finish(Function::Reciprocal, &[root])
    }),
    Row::new("SQUARE", 1, |reader| {
        reader.finish(Mul::float(), &[Arg::Operand(0), Arg::Operand(0)])
    }),
    Row::new("SIN", 1, |reader| function(reader, Function::Sin)),
    Row::new("COS", 1, |reader| function(reader, Function::Cos)),
    Row::new("FLOOR", 1, |reader| function(reader, Function::Floor)),
    Row::new("CEIL", 1, |reader| function(reader, Function::Ceil)),
    Row::new("ROUND", 1, |reader| function(reader, Function::Round)),
    Row::new("SIGN", 2, |reader| function(reader, Function::Sign)),
    Row::new("FAKE_QUANT", 2, fake_quant),
];

fn function(reader: &mut OperatorReader<'_, '_>, function: Function) -> Result<(), Refusal> {
    reader.finish(function, &[Arg::Operand(0)])
}

fn clip(reader: &mut OperatorReader<'_, '_>, min: f32, max: f32) -> Result<(), Refusal> {
    reader.finish(Clip { min, max }, &[Arg::Operand(0)])
}

/// Reads PReLU: max(x, 0) + alpha · min(x, 0). If alpha is a single number, the operator becomes a leaky ReLU.
fn prelu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    if let Some(alpha) = reader.constant(1)?
        && let [alpha] = *alpha.to_f32()?
    {
        return reader.finish(LeakyRelu { alpha }, &[x]);
    }
    let above = reader.push(Relu {}, std::slice::from_ref(&x))?;
    let zero = reader.number(&x, 0.0)?;
    let below = reader.binary(BinaryFunction::Minimum, &x, &zero)?;
    let below = reader.times(&below, &Arg::Operand(1))?;
    reader.finish(Add {}, &[above, below])
}

/// Reads a fake quantization, whose range was recorded in training. It has no effect in the float graph.
fn fake_quant(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.finish(Identity {}, &[Arg::Operand(0)])
}
