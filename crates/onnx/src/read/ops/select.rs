//! Parts of tensors: joined, cut, padded and picked.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Gather, Pad, PadMode, Select, Slice, Split};
use strait_core::{Dim, Elem};

pub(super) const ROWS: &[Row] = &[
    Row::new("Concat", 4, concat).and(&[11, 13]),
    Row::new("Split", 2, split).and(&[11, 13, 18]),
    Row::new("Slice", 1, slice).and(&[10, 11, 13]),
    Row::new("Pad", 2, pad).and(&[11, 13, 18, 19, 21, 23, 24, 25]),
    Row::new("Gather", 1, gather).and(&[11, 13]),
];

fn concat(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let axis = site
        .int("axis")?
        .ok_or_else(|| Refusal::invalid(ReasonCode::Axis, "`axis` is missing"))?;
    let operands: Vec<Arg> = (0..site.operand_count()).map(Arg::Operand).collect();
    site.finish(Concat { axis }, &operands)?;
    // Shapes are joined of numbers that are known and of others.
    match axis {
        0 | -1 => site.note_joined(operands.len()),
        _ => Ok(()),
    }
}

/// The extents are an attribute up to operator set 12 and an operand from 13 on. Where they are not given, the pieces are
/// equal; from 18 on the last one may be smaller, and `num_outputs` says how many there are.
fn split(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let axis = site.int("axis")?.unwrap_or(0);
    let count = match site.int("num_outputs")? {
        Some(count) if usize::try_from(count) != Ok(site.result_count()) => {
            let text = format!(
                "`num_outputs` is {count}, but there are {} results",
                site.result_count()
            );
            return Err(Refusal::invalid(ReasonCode::Split, text));
        }
        _ => site.result_count() as i64,
    };
    let sizes = match site.list("split", 1, 13)? {
        Some(sizes) => sizes,
        None => {
            let extent = extent(site, axis)?;
            let piece = extent
                .checked_add(count - 1)
                .map(|sum| sum / count.max(1))
                .unwrap_or(extent);
            let last = extent - piece.saturating_mul(count - 1);
            if last < 0 || (site.opset() < 18 && last != piece) {
                let text = format!("an extent of {extent} cannot be split into {count} equal pieces");
                return Err(Refusal::invalid(ReasonCode::Split, text));
            }
            let equal = std::iter::repeat_n(piece, site.result_count().saturating_sub(1));
            equal.chain([last]).collect()
        }
    };
    if sizes.len() != site.result_count() {
        let text = format!("{} pieces for {} results", sizes.len(), site.result_count());
        return Err(Refusal::invalid(ReasonCode::Split, text));
    }
    let sizes = sizes.into();
    site.finish(Split { axis, sizes }, &[Arg::Operand(0)])
}

/// The extent of an axis of operand 0.
fn extent(site: &mut NodeReader<'_, '_>, axis: i64) -> Result<i64, Refusal> {
    let shape = site.ty(0)?.shape;
    let position = if axis < 0 { axis + shape.len() as i64 } else { axis };
    match usize::try_from(position).ok().and_then(|p| shape.get(p)) {
        None => Err(Refusal::invalid(
            ReasonCode::Axis,
            format!("axis {axis} is outside rank {}", shape.len()),
        )),
        Some(Dim::Fixed(extent)) => {
            i64::try_from(*extent).map_err(|_| Refusal::invalid(ReasonCode::Limit, format!("axis {axis} is too long")))
        }
        Some(Dim::Named(_)) => Err(Refusal::invalid(
            ReasonCode::SymbolicAxis,
            format!("axis {axis} is symbolic; bind it to a number"),
        )),
    }
}

/// The positions are attributes up to operator set 9, operands from 10 on.
fn slice(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let missing = || Refusal::invalid(ReasonCode::Slice, "the positions are missing");
    if site.opset() >= 10
        && let Some(bounds) = site.late_list(1)?.or(site.late_list(2)?)
    {
        let axes = site.known_ints(3, "axes")?;
        let steps = site.known_ints(4, "steps")?;
        let op = Slice {
            starts: SmallVec::new(),
            ends: SmallVec::new(),
            axes: axes.unwrap_or_else(|| (0..bounds.len() as i64).collect()).into(),
            steps: steps.unwrap_or_else(|| vec![1; bounds.len()]).into(),
        };
        let args = site.late_operands(&[1, 2])?;
        return site.finish(op, &args);
    }
    let starts = site.list("starts", 1, 10)?.ok_or_else(missing)?;
    let ends = site.list("ends", 2, 10)?.ok_or_else(missing)?;
    let axes = site
        .list("axes", 3, 10)?
        .unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = match site.opset() {
        ..10 => None,
        _ => site.known_ints(4, "steps")?,
    };
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    let op = Slice {
        starts: starts.into(),
        ends: ends.into(),
        axes: axes.into(),
        steps: steps.into(),
    };
    site.finish(op, &[Arg::Operand(0)])
}

/// Amounts and value are attributes up to operator set 10, operands from 11 on; from 18 on the amounts may be those of some
/// axes only.
fn pad(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let mode = match site.text("mode", "constant")? {
        "constant" => Some(PadMode::Constant),
        "reflect" => Some(PadMode::Reflect),
        "edge" => Some(PadMode::Edge),
        "wrap" => None,
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let given = site
        .list("pads", 1, 11)?
        .ok_or_else(|| Refusal::invalid(ReasonCode::Pad, "the amounts are missing"))?;
    let amounts: SmallVec<[i64; 8]> = match site.opset() {
        ..18 => given.into(),
        _ => match site.known_ints(3, "axes")? {
            None => given.into(),
            Some(axes) => spread(&given, &axes, site.rank(0)?)?,
        },
    };
    let op = |mode, value| Pad {
        amounts: amounts.clone(),
        mode,
        value,
    };
    let Some(mode) = mode else {
        return wrap(site, &amounts);
    };
    if site.opset() < 11 {
        let value = site.float("value")?.unwrap_or(0.0);
        return site.finish(op(mode, value), &[Arg::Operand(0)]);
    }
    let is_number = site.ty(0)?.elem.is_float() && site.constant(2)?.is_some();
    if mode != PadMode::Constant || !site.has(2) || is_number {
        let value = match mode {
            PadMode::Constant => site.known_float(2, "value")?.unwrap_or(0.0),
            _ => 0.0,
        };
        return site.finish(op(mode, value), &[Arg::Operand(0)]);
    }
    // What is padded is chosen by a mask, which is a constant.
    let shape: Vec<u64> = site
        .extents(&Arg::Operand(0))?
        .iter()
        .map(|extent| extent.unsigned_abs())
        .collect();
    let count = site.room(&shape)?;
    let inside = Arg::Constant(site.integers(&shape, &vec![1; count])?);
    let inside = site.push(op(mode, 0.0), &[inside])?;
    let inside = site.converted(&inside, Elem::Bool)?;
    let padded = site.push(op(mode, 0.0), &[Arg::Operand(0)])?;
    let value = site.reshaped(&Arg::Operand(2), &[])?;
    site.finish(Select {}, &[inside, padded, value])
}

/// Elements from the other end, axis by axis.
fn wrap(site: &mut NodeReader<'_, '_>, amounts: &[i64]) -> Result<(), Refusal> {
    let mut x = Arg::Operand(0);
    let extents = site.extents(&x)?;
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
        site.room(&[length.unsigned_abs()])?;
        let picks: Vec<i64> = (0..length)
            .map(|position| (position - begin).rem_euclid(extent))
            .collect();
        let picks = Arg::Constant(site.integers(&[length.unsigned_abs()], &picks)?);
        x = site.push(Gather { axis: axis as i64 }, &[x, picks])?;
    }
    site.finish(strait_core::op::Identity {}, &[x])
}

/// Amounts for some axes as amounts for all.
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

/// Indices are 64 bits wide in the IR.
fn gather(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let axis = site.int("axis")?.unwrap_or(0);
    let indices = site.indices(1)?;
    site.finish(Gather { axis }, &[Arg::Operand(0), indices])
}
