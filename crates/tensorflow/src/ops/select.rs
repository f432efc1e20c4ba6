//! Reads operators that join, split and slice tensors.

use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Identity, Op, Slice, Split, Squeeze, Unsqueeze};
use strait_import::{Arg, Refusal};

use super::Row;
use super::shape::one;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Concat", |reader| {
        let axis = one(reader, 0, "axis")?;
        let count = reader.operand_count();
        concat(reader, axis, (1..count).collect())
    }),
    ("ConcatV2", |reader| {
        let last = reader.operand_count().saturating_sub(1);
        let axis = one(reader, last, "axis")?;
        concat(reader, axis, (0..last).collect())
    }),
    ("Split", split),
    ("SplitV", split_at),
    ("StridedSlice", strided_slice),
    ("Slice", slice),
    ("Pack", pack),
    ("Unpack", unpack),
    ("ReverseV2", reverse),
];

fn concat(reader: &mut OperatorReader<'_, '_>, axis: i64, operands: Vec<usize>) -> Result<(), Refusal> {
    reader.ignore(&["N"]);
    reader.one_type(operands.iter().copied())?;
    let args: Vec<Arg> = operands.into_iter().map(Arg::Operand).collect();
    match args.as_slice() {
        [_] => reader.finish(Identity {}, &args),
        _ => reader.finish(Concat { axis }, &args),
    }
}

/// The extent of one axis of an operand.
fn extent(reader: &mut OperatorReader<'_, '_>, operand: usize, axis: i64) -> Result<i64, Refusal> {
    let shape = reader.ty(operand)?.shape;
    let axis = reader.axis(axis, shape.len())?;
    let extent = shape
        .get(axis)
        .and_then(|dim| dim.fixed())
        .and_then(|extent| i64::try_from(extent).ok());
    extent.ok_or_else(|| {
        let text = format!("axis {axis} is symbolic; bind it to a number");
        Refusal::invalid(ReasonCode::SymbolicAxis, text)
    })
}

/// Reads an operator that splits a tensor into equal parts. The number of parts is an attribute.
fn split(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = one(reader, 0, "axis")?;
    let extent = extent(reader, 1, axis)?;
    let count = reader
        .int("num_split")?
        .filter(|&count| count > 0 && extent % count == 0);
    let count = count.ok_or_else(|| {
        let text = format!("an extent of {extent} cannot be split into so many equal pieces");
        Refusal::invalid(ReasonCode::Split, text)
    })?;
    let sizes = std::iter::repeat_n(extent / count, reader.result_count()).collect();
    pieces(reader, axis, sizes, count, 1)
}

/// Reads an operator that splits a tensor into parts with given extents (operand 1). An extent of −1 stands for the
/// rest of the axis.
fn split_at(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = one(reader, 2, "axis")?;
    let extent = extent(reader, 0, axis)?;
    let mut sizes = reader.known_ints(1, "sizes")?.unwrap_or_default();
    let mut known = sizes.iter().filter(|&&size| size != -1);
    let known = known
        .try_fold(0i64, |sum, &size| sum.checked_add(size))
        .unwrap_or(i64::MAX);
    if let Some(size) = sizes.iter_mut().find(|size| **size == -1) {
        *size = extent.saturating_sub(known);
    }
    let count = reader.int("num_split")?.unwrap_or(sizes.len() as i64);
    pieces(reader, axis, sizes.into(), count, 0)
}

fn pieces(
    reader: &mut OperatorReader<'_, '_>,
    axis: i64,
    sizes: SmallVec<[i64; 4]>,
    count: i64,
    operand: usize,
) -> Result<(), Refusal> {
    if usize::try_from(count) != Ok(sizes.len()) || sizes.len() != reader.result_count() {
        let text = format!("{} pieces for {} results", sizes.len(), reader.result_count());
        return Err(Refusal::invalid(ReasonCode::Split, text));
    }
    match sizes.len() {
        1 => reader.finish(Identity {}, &[Arg::Operand(operand)]),
        _ => reader.finish(Split { axis, sizes }, &[Arg::Operand(operand)]),
    }
}

/// What a strided slice does with an axis.
enum Axis {
    /// An axis of the operand that the result keeps.
    Kept,
    /// An axis of the operand from which one position is taken. The result does not have this axis.
    Dropped,
    /// A new axis of the result, with extent 1.
    New,
}

/// Reads a strided slice. Begin, end and stride are lists with an entry for each axis. Bits in masks change the meaning
/// of an entry: it then stands for all axes that have no entry, for a new axis, or for a single position whose axis is
/// removed; or its begin or end is the border of the operand.
fn strided_slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut list = |position, what: &str| Ok::<_, Refusal>(reader.known_ints(position, what)?.unwrap_or_default());
    let (begin, end, strides) = (list(1, "begin")?, list(2, "end")?, list(3, "strides")?);
    let mut mask = |key| Ok::<i64, Refusal>(reader.int(key)?.unwrap_or(0));
    let (begins, ends) = (mask("begin_mask")?, mask("end_mask")?);
    let (ellipses, new, dropped) = (
        mask("ellipsis_mask")?,
        mask("new_axis_mask")?,
        mask("shrink_axis_mask")?,
    );
    let wrong = |text: &str| Refusal::invalid(ReasonCode::Slice, text);
    if begin.len() != end.len() || begin.len() != strides.len() || begin.len() > 32 {
        return Err(wrong("its lists have not one length"));
    }
    let rank = reader.rank(0)?;
    let has = |mask: i64, entry: usize| mask >> entry & 1 == 1;
    if (0..begin.len()).filter(|&entry| has(ellipses, entry)).count() > 1 {
        return Err(wrong("its positions name all other axes twice"));
    }
    let is_new = |entry: usize| has(new, entry) && !has(ellipses, entry);
    let named = (0..begin.len())
        .filter(|&entry| !has(ellipses, entry) && !is_new(entry))
        .count();
    let rest = rank
        .checked_sub(named)
        .ok_or_else(|| wrong("its positions name more axes than there are"))?;
    let mut slice = Slice {
        starts: SmallVec::new(),
        ends: SmallVec::new(),
        axes: SmallVec::new(),
        steps: SmallVec::new(),
    };
    let mut axes: Vec<Axis> = Vec::new();
    let mut axis = 0;
    for entry in 0..begin.len() {
        if has(ellipses, entry) {
            axes.extend((0..rest).map(|_| Axis::Kept));
            axis += rest;
            continue;
        }
        if is_new(entry) {
            axes.push(Axis::New);
            continue;
        }
        let step = strides[entry];
        let (start, stop, step) = if has(dropped, entry) {
            axes.push(Axis::Dropped);
            // The slice ends after the position. After the last position, −1, there is no number for this end, so the
            // end of the axis is used.
            let start = begin[entry];
            (start, if start == -1 { i64::MAX } else { start.saturating_add(1) }, 1)
        } else {
            axes.push(Axis::Kept);
            let (first, past) = if step < 0 { (i64::MAX, i64::MIN) } else { (0, i64::MAX) };
            let start = if has(begins, entry) { first } else { begin[entry] };
            (start, if has(ends, entry) { past } else { end[entry] }, step)
        };
        if (start, stop, step) != (0, i64::MAX, 1) {
            slice.starts.push(start);
            slice.ends.push(stop);
            slice.axes.push(axis as i64);
            slice.steps.push(step);
        }
        axis += 1;
    }
    axes.extend((axis..rank).map(|_| Axis::Kept));
    let mut steps: Vec<Op> = Vec::new();
    if !slice.axes.is_empty() {
        steps.push(slice.into());
    }
    let own = axes.iter().filter(|axis| !matches!(axis, Axis::New));
    let squeeze: SmallVec<[i64; 4]> = own
        .enumerate()
        .filter(|(_, axis)| matches!(axis, Axis::Dropped))
        .map(|(axis, _)| axis as i64)
        .collect();
    if !squeeze.is_empty() {
        steps.push(Squeeze { axes: squeeze }.into());
    }
    let left = axes.iter().filter(|axis| !matches!(axis, Axis::Dropped));
    let unsqueeze: SmallVec<[i64; 4]> = left
        .enumerate()
        .filter(|(_, axis)| matches!(axis, Axis::New))
        .map(|(axis, _)| axis as i64)
        .collect();
    if !unsqueeze.is_empty() {
        steps.push(Unsqueeze { axes: unsqueeze }.into());
    }
    let last = steps.pop().unwrap_or_else(|| Identity {}.into());
    let mut x = Arg::Operand(0);
    for step in steps {
        x = reader.push(step, &[x])?;
    }
    reader.finish(last, &[x])
}

/// Reads a slice with a start and a number of elements for each axis. A number of −1 means all elements up to the end.
fn slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let begin = reader.known_ints(1, "begin")?.unwrap_or_default();
    let size = reader.known_ints(2, "size")?.unwrap_or_default();
    if begin.len() != size.len() || begin.iter().any(|&start| start < 0) {
        let text = format!("it begins at {begin:?} with the extents {size:?}");
        return Err(Refusal::invalid(ReasonCode::Slice, text));
    }
    let end = |(&start, &size): (&i64, &i64)| {
        if size == -1 {
            i64::MAX
        } else {
            start.saturating_add(size)
        }
    };
    let op = Slice {
        ends: begin.iter().zip(&size).map(end).collect(),
        axes: (0..begin.len() as i64).collect(),
        steps: SmallVec::from_elem(1, begin.len()),
        starts: begin.into(),
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// Reads an operator that joins tensors along a new axis.
fn pack(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["N"]);
    let axis = reader.int("axis")?.unwrap_or(0);
    let count = reader.operand_count();
    reader.one_type(0..count)?;
    if count == 1 {
        let axes = std::iter::once(axis).collect();
        return reader.finish(Unsqueeze { axes }, &[Arg::Operand(0)]);
    }
    let mut parts = Vec::with_capacity(count);
    for position in 0..count {
        parts.push(reader.unsqueezed(&Arg::Operand(position), &[axis])?);
    }
    reader.finish(Concat { axis }, &parts)
}

/// Reads an operator that splits a tensor into one tensor for each position along an axis, and removes this axis.
fn unpack(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(0);
    let extent = extent(reader, 0, axis)?;
    if reader.int("num")?.unwrap_or(extent) != extent || usize::try_from(extent) != Ok(reader.result_count()) {
        let text = format!("an extent of {extent} for {} results", reader.result_count());
        return Err(Refusal::invalid(ReasonCode::Split, text));
    }
    let squeeze = || Squeeze {
        axes: std::iter::once(axis).collect(),
    };
    if extent == 1 {
        return reader.finish(squeeze(), &[Arg::Operand(0)]);
    }
    let sizes = std::iter::repeat_n(1, reader.result_count()).collect();
    let pieces = reader.push_all(Split { axis, sizes }, &[Arg::Operand(0)])?;
    for (position, piece) in pieces.into_iter().enumerate() {
        reader.finish_result(position, squeeze(), &[piece])?;
    }
    Ok(())
}

fn reverse(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axes = reader.known_ints(1, "axes")?.unwrap_or_default();
    if axes.is_empty() {
        return reader.finish(Identity {}, &[Arg::Operand(0)]);
    }
    let op = Slice {
        starts: SmallVec::from_elem(i64::MAX, axes.len()),
        ends: SmallVec::from_elem(i64::MIN, axes.len()),
        steps: SmallVec::from_elem(-1, axes.len()),
        axes: axes.into(),
    };
    reader.finish(op, &[Arg::Operand(0)])
}
