//! Reads functions of one operand, applied to each element.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{BinaryFunction, Clip, Elu, Function, HardSigmoid, LeakyRelu, Relu};

pub(super) const ROWS: &[Row] = &[
    Row::new("Relu", 6, |reader| reader.finish(Relu {}, &[Arg::Operand(0)])).and(&[13, 14]),
    Row::new("Clip", 6, clip).and(&[11, 12, 13]),
    Row::new("LeakyRelu", 6, |reader| {
        let alpha = reader.float("alpha")?.unwrap_or(0.01);
        reader.finish(LeakyRelu { alpha }, &[Arg::Operand(0)])
    })
    .and(&[16]),
    Row::new("Elu", 6, |reader| {
        let alpha = reader.float("alpha")?.unwrap_or(1.0);
        reader.finish(Elu { alpha }, &[Arg::Operand(0)])
    })
    .and(&[22]),
    Row::new("HardSigmoid", 6, |reader| {
        let (alpha, beta) = (
            reader.float("alpha")?.unwrap_or(0.2),
            reader.float("beta")?.unwrap_or(0.5),
        );
        reader.finish(HardSigmoid { alpha, beta }, &[Arg::Operand(0)])
    })
    .and(&[22]),
    Row::new("Gelu", 20, gelu),
];

/// Reads Clip. The bounds are attributes up to operator set 10, and operands from 11 on. If the bounds are known
/// numbers and the operand is a float, the node becomes a `clip`. Otherwise the node becomes a maximum with the lower
/// bound and a minimum with the upper bound.
fn clip(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1, 2])?;
    if reader.opset() >= 11 && !has_known_bounds(reader)? {
        let mut steps = Vec::new();
        for (function, bound) in [(BinaryFunction::Maximum, 1), (BinaryFunction::Minimum, 2)] {
            if reader.has(bound) {
                steps.push((function.into(), vec![Arg::Operand(bound)]));
            }
        }
        reader.finish_chain(Arg::Operand(0), steps)?;
        return clip_codes(reader);
    }
    let (min, max) = match reader.opset() {
        ..11 => (reader.float("min")?, reader.float("max")?),
        _ => (
            reader.known_float(1, "lower bound")?,
            reader.known_float(2, "upper bound")?,
        ),
    };
    let (min, max) = (min.unwrap_or(f32::NEG_INFINITY), max.unwrap_or(f32::INFINITY));
    reader.finish(Clip { min, max }, &[Arg::Operand(0)])
}

/// Reads Clip on codes. Exporters write such a clip to use only a part of the codes of a type, for example only the
/// codes 0 to 127 of an 8-bit type.
fn clip_codes(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let Some((least, most)) = reader.ty(0)?.elem.integers() else {
        return Ok(());
    };
    let mut bounds = [least, most];
    for (position, bound) in bounds.iter_mut().enumerate() {
        if reader.has(position + 1) {
            match reader
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
    reader.note_clipped(bounds[0], bounds[1])
}

fn has_known_bounds(reader: &mut OperatorReader<'_, '_>) -> Result<bool, Refusal> {
    let mut known = reader.ty(0)?.elem.is_float();
    for bound in [1, 2] {
        known &= !reader.has(bound) || reader.constant(bound)?.is_some();
    }
    Ok(known)
}

fn gelu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    match reader.text("approximate", "none")? {
        "none" => reader.finish(Function::Gelu, &[Arg::Operand(0)]),
        "tanh" => reader.finish(Function::GeluTanh, &[Arg::Operand(0)]),
        other => Err(Refusal::Unsupported(format!("`approximate` is {other}"))),
    }
}
