//! Reads functions of one operand, applied to each element.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::op::{Binary, BinaryFunction, Clip, Elu, Function, HardSigmoid, Identity, LeakyRelu, Relu, Unary};

pub(super) const ROWS: &[Row] = &[
    Row::new("Relu", 6, |site| site.finish(Relu {}, &[Arg::Operand(0)])).and(&[13, 14]),
    Row::new("Clip", 6, clip).and(&[11, 12, 13]),
    Row::new("LeakyRelu", 6, |site| {
        let alpha = site.float("alpha")?.unwrap_or(0.01);
        site.finish(LeakyRelu { alpha }, &[Arg::Operand(0)])
    })
    .and(&[16]),
    Row::new("Elu", 6, |site| {
        let alpha = site.float("alpha")?.unwrap_or(1.0);
        site.finish(Elu { alpha }, &[Arg::Operand(0)])
    })
    .and(&[22]),
    Row::new("HardSigmoid", 6, |site| {
        let (alpha, beta) = (site.float("alpha")?.unwrap_or(0.2), site.float("beta")?.unwrap_or(0.5));
        site.finish(HardSigmoid { alpha, beta }, &[Arg::Operand(0)])
    })
    .and(&[22]),
    Row::new("Gelu", 20, gelu),
    Row::new("HardSwish", 14, |site| unary(site, Function::HardSwish)).and(&[22]),
    Row::new("Sigmoid", 6, |site| unary(site, Function::Sigmoid)).and(&[13]),
    Row::new("Tanh", 6, |site| unary(site, Function::Tanh)).and(&[13]),
    Row::new("Softplus", 1, |site| unary(site, Function::Softplus)).and(&[22]),
    Row::new("Mish", 18, |site| unary(site, Function::Mish)).and(&[22]),
    Row::new("Exp", 6, |site| unary(site, Function::Exp)).and(&[13]),
    Row::new("Log", 6, |site| unary(site, Function::Log)).and(&[13]),
    Row::new("Sqrt", 6, |site| unary(site, Function::Sqrt)).and(&[13]),
    Row::new("Reciprocal", 6, |site| unary(site, Function::Reciprocal)).and(&[13]),
    Row::new("Erf", 9, |site| unary(site, Function::Erf)).and(&[13]),
    Row::new("Neg", 6, |site| unary(site, Function::Neg)).and(&[13]),
    Row::new("Abs", 6, |site| unary(site, Function::Abs)).and(&[13]),
    Row::new("Floor", 6, |site| unary(site, Function::Floor)).and(&[13]),
    Row::new("Ceil", 6, |site| unary(site, Function::Ceil)).and(&[13]),
    Row::new("Round", 11, |site| unary(site, Function::Round)).and(&[22]),
    Row::new("Sign", 9, |site| unary(site, Function::Sign)).and(&[13]),
    Row::new("Sin", 7, |site| unary(site, Function::Sin)).and(&[22]),
    Row::new("Cos", 7, |site| unary(site, Function::Cos)).and(&[22]),
    Row::new("Tan", 7, |site| unary(site, Function::Tan)).and(&[22]),
    Row::new("Asin", 7, |site| unary(site, Function::Asin)).and(&[22]),
    Row::new("Acos", 7, |site| unary(site, Function::Acos)).and(&[22]),
    Row::new("Atan", 7, |site| unary(site, Function::Atan)).and(&[22]),
    Row::new("Sinh", 9, |site| unary(site, Function::Sinh)).and(&[22]),
    Row::new("Cosh", 9, |site| unary(site, Function::Cosh)).and(&[22]),
    Row::new("Asinh", 9, |site| unary(site, Function::Asinh)).and(&[22]),
    Row::new("Acosh", 9, |site| unary(site, Function::Acosh)).and(&[22]),
    Row::new("Atanh", 9, |site| unary(site, Function::Atanh)).and(&[22]),
];

fn unary(site: &mut NodeReader<'_, '_>, function: Function) -> Result<(), Refusal> {
    site.finish(Unary { function }, &[Arg::Operand(0)])
}

/// A clip. The bounds are attributes up to operator set 10, and operands from 11 on. If they are known numbers and the
/// operand is a float, it becomes a clip; otherwise a maximum with the lower bound and a minimum with the upper one.
fn clip(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    site.one_type([0, 1, 2])?;
    if site.opset() >= 11 && !has_known_bounds(site)? {
        let mut steps: Vec<(BinaryFunction, usize)> = Vec::new();
        for step in [(BinaryFunction::Maximum, 1), (BinaryFunction::Minimum, 2)] {
            steps.extend(site.has(step.1).then_some(step));
        }
        let mut x = Arg::Operand(0);
        let Some((last, bound)) = steps.pop() else {
            return site.finish(Identity {}, &[x]);
        };
        for (function, bound) in steps {
            x = site.binary(function, &x, &Arg::Operand(bound))?;
        }
        site.finish(Binary { function: last }, &[x, Arg::Operand(bound)])?;
        return clip_codes(site);
    }
    let (min, max) = match site.opset() {
        ..11 => (site.float("min")?, site.float("max")?),
        _ => (site.known_float(1, "lower bound")?, site.known_float(2, "upper bound")?),
    };
    let (min, max) = (min.unwrap_or(f32::NEG_INFINITY), max.unwrap_or(f32::INFINITY));
    site.finish(Clip { min, max }, &[Arg::Operand(0)])
}

/// A clip of codes. Exporters use it to narrow codes, for example to 0 to 127 of 8 bits.
fn clip_codes(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let Some((least, most)) = site.ty(0)?.elem.integers() else {
        return Ok(());
    };
    let mut bounds = [least, most];
    for (position, bound) in bounds.iter_mut().enumerate() {
        if site.has(position + 1) {
            match site
                .constant(position + 1)?
                .map(|known| known.to_i64())
                .transpose()?
                .as_deref()
            {
                Some(&[known]) => *bound = known,
                _ => return Ok(()),
            }
        }
    }
    site.note_clipped(bounds[0], bounds[1])
}

fn has_known_bounds(site: &mut NodeReader<'_, '_>) -> Result<bool, Refusal> {
    let mut known = site.ty(0)?.elem.is_float();
    for bound in [1, 2] {
        known &= !site.has(bound) || site.constant(bound)?.is_some();
    }
    Ok(known)
}

fn gelu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    match site.text("approximate", "none")? {
        "none" => unary(site, Function::Gelu),
        "tanh" => unary(site, Function::GeluTanh),
        other => Err(Refusal::Unsupported(format!("`approximate` is {other}"))),
    }
}
