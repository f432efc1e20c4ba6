//! Reads padding.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::MirrorPadMode;
use strait_core::ReasonCode;
use strait_core::op::{Pad, PadMode};

pub(super) const ROWS: &[Row] = &[
    Row::new("PAD", 6, |reader| pad(reader, 0.0)).on_one_grid(),
    Row::new("PADV2", 6, |reader| {
        let value = value(reader)?;
        pad(reader, value)
    })
    .on_one_grid(),
    Row::new("DILATE", 1, dilate),
    Row::new("MIRROR_PAD", 3, mirror_pad).on_one_grid(),
];

/// The number to pad with, which is operand 2.
fn value(reader: &mut OperatorReader<'_, '_>) -> Result<f32, Refusal> {
    match reader.operand_of_file(2).is_some_and(|tensor| tensor.grid.is_some()) {
        false if !reader.ty(2)?.elem.is_float() => Ok(reader.given_int(2, "value")? as f32),
        _ => Ok(reader.known_float(2, "value")?.unwrap_or(0.0)),
    }
}

/// Reads a dilation, which inserts gaps between neighbouring elements. If neighbours get a distance of d, an axis of n
/// elements becomes an axis of (n − 1)·d + 1 elements.
fn dilate(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if reader.operand_grid(0).is_some() {
        return Err(Refusal::unsupported("it takes codes for numbers"));
    }
    let steps = reader.known_ints(1, "dilations")?.unwrap_or_default();
    let value = value(reader)?;
    let mut extents = reader.extents(&Arg::Operand(0))?;
    if steps.len() != extents.len() || steps.iter().any(|&step| step < 1) {
        let text = format!("dilations {steps:?} do not fit {} axes", extents.len());
        return Err(Refusal::invalid(ReasonCode::Pad, text));
    }
    let mut x = Arg::Operand(0);
    for (axis, &step) in steps.iter().enumerate().filter(|(_, step)| **step != 1) {
        let apart = reader.unsqueezed(&x, &[axis as i64 + 1])?;
        let mut amounts = vec![0; 2 * (extents.len() + 1)];
        amounts[extents.len() + 1 + axis + 1] = step - 1;
        let op = Pad {
            amounts: amounts.into(),
            mode: PadMode::Constant,
            value,
        };
        let filled = reader.push(op, &[apart])?;
        extents[axis] = extents[axis].saturating_mul(step);
        let joined = reader.reshaped(&filled, &extents)?;
        extents[axis] = (extents[axis] - step).saturating_add(1).max(0);
        x = reader.part(&joined, axis as i64, 0, extents[axis])?;
    }
    reader.finish_value(&x)
}

/// Returns the amounts of padding before each axis, and after each axis. The operand has a row of these two numbers for
/// each axis.
fn amounts(reader: &mut OperatorReader<'_, '_>) -> Result<(Vec<i64>, Vec<i64>), Refusal> {
    let rank = reader.rank(0)?;
    let pairs = reader.known_ints(1, "paddings")?.unwrap_or_default();
    if pairs.len() != 2 * rank || pairs.iter().any(|&amount| amount < 0) {
        let text = format!("paddings {pairs:?} do not fit {rank} axes");
        return Err(Refusal::invalid(ReasonCode::Pad, text));
    }
    let begins = pairs.iter().step_by(2).copied().collect();
    let ends = pairs.iter().skip(1).step_by(2).copied().collect();
    Ok((begins, ends))
}

fn pad(reader: &mut OperatorReader<'_, '_>, value: f32) -> Result<(), Refusal> {
    let (begins, ends) = amounts(reader)?;
    let op = Pad {
        amounts: begins.into_iter().chain(ends).collect(),
        mode: PadMode::Constant,
        value,
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// Reads padding that mirrors at the border. With `SYMMETRIC`, the element at the border is repeated.
fn mirror_pad(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, MirrorPadOptions);
    let (begins, ends) = amounts(reader)?;
    if option!(options, mode, MirrorPadMode::Reflect) == MirrorPadMode::Reflect {
        let op = Pad {
            amounts: begins.into_iter().chain(ends).collect(),
            mode: PadMode::Reflect,
            value: 0.0,
        };
        return reader.finish(op, &[Arg::Operand(0)]);
    }
    let amounts: Vec<[i64; 2]> = begins.into_iter().zip(ends).map(|(begin, end)| [begin, end]).collect();
    let mirrored = reader.mirrored(&Arg::Operand(0), &amounts)?;
    reader.finish_value(&mirrored)
}
