//! Reads functions of each element.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use strait_core::op::{Add, Binary, BinaryFunction, Clip, Elu, Function, Identity, LeakyRelu, Mul, Relu, Unary};

pub(super) const ROWS: &[Row] = &[
    Row::new("RELU", 3, |site| site.finish(Relu {}, &[Arg::Operand(0)])),
    Row::new("RELU6", 3, |site| clip(site, 0.0, 6.0)),
    Row::new("RELU_N1_TO_1", 1, |site| clip(site, -1.0, 1.0)),
    Row::new("RELU_0_TO_1", 1, |site| clip(site, 0.0, 1.0)),
    Row::new("LOGISTIC", 3, |site| function(site, Function::Sigmoid)),
    Row::new("TANH", 3, |site| function(site, Function::Tanh)),
    Row::new("HARD_SWISH", 1, |site| function(site, Function::HardSwish)),
    Row::new("GELU", 2, |site| {
        let options = options!(site, GeluOptions);
        match option!(options, approximate, false) {
            true => function(site, Function::GeluTanh),
            false => function(site, Function::Gelu),
        }
    }),
    Row::new("ELU", 1, |site| site.finish(Elu { alpha: 1.0 }, &[Arg::Operand(0)])),
    Row::new("LEAKY_RELU", 2, |site| {
        let options = options!(site, LeakyReluOptions);
        let alpha = option!(options, alpha, 0.0);
        site.finish(LeakyRelu { alpha }, &[Arg::Operand(0)])
    }),
    Row::new("PRELU", 1, prelu),
    Row::new("ABS", 5, |site| function(site, Function::Abs)),
    Row::new("NEG", 1, |site| function(site, Function::Neg)),
    Row::new("EXP", 2, |site| function(site, Function::Exp)),
    Row::new("LOG", 2, |site| function(site, Function::Log)),
    Row::new("SQRT", 2, |site| function(site, Function::Sqrt)),
    Row::new("RSQRT", 3, |site| {
        let root = site.function(Function::Sqrt, &Arg::Operand(0))?;
        site.finish(
            Unary {
                function: Function::Reciprocal,
            },
            &[root],
        )
    }),
    Row::new("SQUARE", 1, |site| {
        site.finish(Mul::float(), &[Arg::Operand(0), Arg::Operand(0)])
    }),
    Row::new("SIN", 1, |site| function(site, Function::Sin)),
    Row::new("COS", 1, |site| function(site, Function::Cos)),
    Row::new("FLOOR", 1, |site| function(site, Function::Floor)),
    Row::new("CEIL", 1, |site| function(site, Function::Ceil)),
    Row::new("ROUND", 1, |site| function(site, Function::Round)),
    Row::new("SIGN", 2, |site| function(site, Function::Sign)),
    Row::new("FAKE_QUANT", 2, fake_quant),
];

fn function(site: &mut Site<'_, '_>, function: Function) -> Result<(), Refusal> {
    site.finish(Unary { function }, &[Arg::Operand(0)])
}

fn clip(site: &mut Site<'_, '_>, min: f32, max: f32) -> Result<(), Refusal> {
    site.finish(Clip { min, max }, &[Arg::Operand(0)])
}

/// max(x, 0) + alpha · min(x, 0). If alpha is a single number, it is a leaky ReLU.
fn prelu(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    if let Some(alpha) = site.constant(1)?
        && let [alpha] = *alpha.to_f32()?
    {
        return site.finish(LeakyRelu { alpha }, &[x]);
    }
    let above = site.push(Relu {}, std::slice::from_ref(&x))?;
    let zero = site.number(&x, 0.0)?;
    let below = site.push(
        Binary {
            function: BinaryFunction::Minimum,
        },
        &[x, zero],
    )?;
    let below = site.times(&below, &Arg::Operand(1))?;
    site.finish(Add {}, &[above, below])
}

/// A range that training recorded for a quantizer. It has no effect in the float graph.
fn fake_quant(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.finish(Identity {}, &[Arg::Operand(0)])
}
