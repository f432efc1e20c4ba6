//! Reads padding.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::op::{Add, Expand, Gather, Identity, Pad, PadMode, Select, ShapeOf, Sub};
use strait_core::shape::fixed_dims;
use strait_core::{Elem, ReasonCode};

pub(super) const ROWS: &[Row] = &[Row::new("Pad", 2, pad).and(&[11, 13, 18, 19, 21, 23, 24, 25])];

/// Reads Pad. The amounts and the value are attributes up to operator set 10, and operands from 11 on. From 18 on,
/// amounts may be given for some axes only.
fn pad(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mode = match reader.text("mode", "constant")? {
        "constant" => Some(PadMode::Constant),
        "reflect" => Some(PadMode::Reflect),
        "edge" => Some(PadMode::Edge),
        "wrap" => None,
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    if reader.opset() >= 11
        && let Some(known) = reader.late_elements(1)?
    {
        return late(reader, mode, &known);
    }
    let given = reader
        .list("pads", 1, 11)?
        .ok_or_else(|| Refusal::invalid(ReasonCode::Pad, "the amounts are missing"))?;
    let amounts: SmallVec<[i64; 8]> = match reader.opset() {
        ..18 => given.into(),
        _ => match reader.known_ints(3, "axes")? {
            None => given.into(),
            Some(axes) => spread(&given, &axes, reader.rank(0)?)?,
        },
    };
    let op = |mode, value| Pad {
        amounts: amounts.clone(),
        mode,
        value,
    };
    let Some(mode) = mode else {
        return wrap(reader, &amounts);
    };
    if reader.opset() < 11 {
        let value = reader.float("value")?.unwrap_or(0.0);
        return reader.finish(op(mode, value), &[Arg::Operand(0)]);
    }
    filled(reader, |value| op(mode, value), None)
}

/// Pads with a number that may be known only at run time. For a number that is known, `op` makes the padding op. `late`
/// has the amounts if they are computed at run time.
fn filled(reader: &mut OperatorReader<'_, '_>, op: impl Fn(f32) -> Pad, late: Option<Arg>) -> Result<(), Refusal> {
    let args = |x: Arg| std::iter::once(x).chain(late.clone()).collect::<Vec<Arg>>();
    let mode = op(0.0).mode;
    let is_number = reader.ty(0)?.elem.is_float() && reader.constant(2)?.is_some();
    if mode != PadMode::Constant || !reader.has(2) || is_number {
        let value = match mode {
            PadMode::Constant => reader.known_float(2, "value")?.unwrap_or(0.0),
            _ => 0.0,
        };
        return reader.finish(op(value), &args(Arg::Operand(0)));
    }
    // A mask says which elements are padding.
    let shape = reader.ty(0)?.shape;
    let inside = match fixed_dims(&shape) {
        Some(shape) => {
            let count = reader.room(&shape)?;
            Arg::Constant(reader.integers(&shape, &vec![1; count])?)
        }
        None => {
            let one = Arg::Constant(reader.integers(&[], &[1])?);
            let extents = reader.push(ShapeOf {}, &[Arg::Operand(0)])?;
            let known = shape.iter().map(|dim| dim.fixed().map_or(-1, |extent| extent as i64));
            reader.push(Expand { shape: known.collect() }, &[one, extents])?
        }
    };
    let inside = reader.push(op(0.0), &args(inside))?;
    let inside = reader.converted(&inside, Elem::Bool)?;
    let padded = reader.push(op(0.0), &args(Arg::Operand(0)))?;
    let value = reader.reshaped(&Arg::Operand(2), &[])?;
    reader.finish(Select {}, &[inside, padded, value])
}

/// Pads by amounts that are computed at run time. `known` has those amounts that are already known.
fn late(reader: &mut OperatorReader<'_, '_>, mode: Option<PadMode>, known: &[Option<i64>]) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    let mut list = reader.indices(1)?;
    let mut amounts: Vec<i64> = known.iter().map(|known| known.unwrap_or(Pad::UNKNOWN)).collect();
    let axes = match reader.opset() {
        ..18 => None,
        _ => reader.known_ints(3, "axes")?,
    };
    if let Some(axes) = axes {
        let mut places = Vec::new();
        for end in [0, rank] {
            for &axis in &axes {
                places.push(reader.axis(axis, rank)? + end);
            }
        }
        amounts = spread(&amounts, &axes, rank)?.into_vec();
        let none = Arg::Constant(reader.integers(&[1], &[0])?);
        list = reader.late_spread(&list, &places, vec![none; 2 * rank])?;
    }
    let Some(mode) = mode else {
        return late_wrap(reader, &list, &amounts);
    };
    let op = |value| Pad {
        amounts: amounts[..].into(),
        mode,
        value,
    };
    filled(reader, op, Some(list))
}

/// Reads wrap padding by amounts that are computed at run time. Each axis is extended at one end with elements from its
/// other end.
fn late_wrap(reader: &mut OperatorReader<'_, '_>, list: &Arg, amounts: &[i64]) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    if amounts.len() != 2 * rank {
        return Err(Refusal::invalid(ReasonCode::Pad, "two amounts per axis are needed"));
    }
    let mut x = Arg::Operand(0);
    for axis in (0..rank).filter(|&axis| (amounts[axis], amounts[axis + rank]) != (0, 0)) {
        let [begin, end] = [axis, axis + rank].map(|place| reader.part(list, 0, place as i64, place as i64 + 1));
        let extent = reader.extent_at(&x, axis)?;
        let none = Arg::Constant(reader.integers(&[1], &[0])?);
        let first = reader.push(Sub {}, &[none, begin?])?;
        let end = reader.push(Add {}, &[extent, end?])?;
        x = reader.cyclic(&x, axis, first, end)?;
    }
    reader.finish(Identity {}, &[x])
}

/// Reads wrap padding. Each axis is extended at one end with elements from its other end.
fn wrap(reader: &mut OperatorReader<'_, '_>, amounts: &[i64]) -> Result<(), Refusal> {
    let mut x = Arg::Operand(0);
    let extents = reader.extents(&x)?;
    if amounts.len() != 2 * extents.len() {
        return Err(Refusal::invalid(ReasonCode::Pad, "two amounts per axis are needed"));
    }
    for (axis, &extent) in extents.iter().enumerate() {
        let (begin, end) = (amounts[axis], amounts[axis + extents.len()]);
        if (begin, end) == (0, 0) {
            continue;
        }
        let length = extent.checked_add(begin).and_then(|length| length.checked_add(end));
        let length = length.filter(|&length| length >= 0 && extent > 0 && begin != i64::MIN);
        let length = length.ok_or_else(|| {
            let text = format!("axis {axis} with extent {extent} cannot be padded by {begin} and {end}");
            Refusal::invalid(ReasonCode::Pad, text)
        })?;
        reader.room(&[length.unsigned_abs()])?;
        let picks: Vec<i64> = (0..length)
            .map(|position| (position - begin).rem_euclid(extent))
            .collect();
        let picks = Arg::Constant(reader.integers(&[length.unsigned_abs()], &picks)?);
        x = reader.push(Gather { axis: axis as i64 }, &[x, picks])?;
    }
    reader.finish(Identity {}, &[x])
}

/// The amounts for all axes. `given` has them only for `axes`.
fn spread(given: &[i64], axes: &[i64], rank: usize) -> Result<SmallVec<[i64; 8]>, Refusal> {
    let invalid = |text: &str| {
        Refusal::invalid(
            ReasonCode::Pad,
            format!("{text}: {given:?} along {axes:?} of rank {rank}"),
        )
    };
    if given.len() != 2 * axes.len() {
        return Err(invalid("two amounts per axis are needed"));
    }
    let mut amounts: SmallVec<[i64; 8]> = SmallVec::from_elem(0, 2 * rank);
    for (position, &axis) in axes.iter().enumerate() {
        let axis = usize::try_from(if axis < 0 {
            axis.saturating_add(rank as i64)
        } else {
            axis
        });
        let axis = axis
            .ok()
            .filter(|&a| a < rank)
            .ok_or_else(|| invalid("an axis is outside"))?;
        amounts[axis] = given[position];
        amounts[axis + rank] = given[position + axes.len()];
    }
    Ok(amounts)
}
