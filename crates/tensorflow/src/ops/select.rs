//! Reads operators that join, split and slice tensors.

use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Identity, Split, Squeeze, Unsqueeze};
use strait_import::{Arg, Refusal, slice_along};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Concat", |reader| {
        let axis = reader.given_int(0, "axis")?;
        let count = reader.operand_count();
        concat(reader, axis, (1..count).collect())
    }),
    ("ConcatV2", |reader| {
        let last = reader.operand_count().saturating_sub(1);
        let axis = reader.given_int(last, "axis")?;
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

/// Reads an operator that splits a tensor into equal parts. The number of parts is an attribute.
fn split(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.given_int(0, "axis")?;
    let extent = reader.extent(&Arg::Operand(1), axis)?;
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
    let axis = reader.given_int(2, "axis")?;
    let extent = reader.extent(&Arg::Operand(0), axis)?;
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

fn strided_slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut mask = |key| Ok::<i64, Refusal>(reader.int(key)?.unwrap_or(0));
    let masks = [
        mask("begin_mask")?,
        mask("end_mask")?,
        mask("ellipsis_mask")?,
        mask("new_axis_mask")?,
        mask("shrink_axis_mask")?,
    ];
    reader.finish_strided_slice(masks, false)
}

/// Reads a slice with a start and a number of elements for each axis. A number of −1 means all elements up to the end.
fn slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let begin = reader.known_ints(1, "begin")?.unwrap_or_default();
    let size = reader.known_ints(2, "size")?.unwrap_or_default();
    if begin.len() != size.len() || begin.iter().any(|&start| start < 0) {
        let text = format!("it begins at {begin:?} with the extents {size:?}");
        return Err(Refusal::invalid(ReasonCode::Slice, text));
    }
    let part = |(axis, (&start, &size)): (usize, (&i64, &i64))| {
        let end = if size == -1 {
            i64::MAX
        } else {
            start.saturating_add(size)
        };
        (axis as i64, [start, end, 1])
    };
    let op = slice_along(begin.iter().zip(&size).enumerate().map(part));
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
    let extent = reader.extent(&Arg::Operand(0), axis)?;
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
    let op = slice_along(axes.into_iter().map(|axis| (axis, [i64::MAX, i64::MIN, -1])));
    reader.finish(op, &[Arg::Operand(0)])
}
