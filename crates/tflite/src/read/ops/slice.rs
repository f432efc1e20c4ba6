//! Reads slices and splits.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use strait_core::ReasonCode;
use strait_core::op::{Reshape, Split};
use strait_import::slice_along;

pub(super) const ROWS: &[Row] = &[
    Row::new("SLICE", 8, slice).on_one_grid(),
    Row::new("STRIDED_SLICE", 8, strided_slice).on_one_grid(),
    Row::new("SPLIT", 5, split).on_one_grid(),
    Row::new("SPLIT_V", 3, split_v).on_one_grid(),
    Row::new("UNPACK", 6, unpack).on_one_grid(),
    Row::new("REVERSE_V2", 4, reverse).on_one_grid(),
];

/// Reads a slice. Operands: x, the begins, and the sizes. A size of −1 means everything up to the end of the axis.
fn slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let begins = reader.known_ints(1, "begin")?.unwrap_or_default();
    let sizes = reader.known_ints(2, "size")?.unwrap_or_default();
    let rank = reader.rank(0)?;
    if begins.len() != rank || sizes.len() != rank || begins.iter().any(|&begin| begin < 0) {
        let text = format!("begins {begins:?} and sizes {sizes:?} do not fit {rank} axes");
        return Err(Refusal::invalid(ReasonCode::Slice, text));
    }
    let part = |(axis, (&begin, &size)): (usize, (&i64, &i64))| {
        let end = if size == -1 {
            i64::MAX
        } else {
            begin.saturating_add(size)
        };
        (axis as i64, [begin, end, 1])
    };
    let op = slice_along(begins.iter().zip(&sizes).enumerate().map(part));
    reader.finish(op, &[Arg::Operand(0)])
}

fn strided_slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, StridedSliceOptions);
    let masks = [
        option!(options, begin_mask, 0),
        option!(options, end_mask, 0),
        option!(options, ellipsis_mask, 0),
        option!(options, new_axis_mask, 0),
        option!(options, shrink_axis_mask, 0),
    ];
    reader.finish_strided_slice(masks.map(i64::from), option!(options, offset, false))
}

/// Reads an operator that splits x into equal parts. Operands: the axis, and x.
fn split(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, SplitOptions);
    let count = i64::from(option!(options, num_splits, 0));
    let rank = reader.rank(1)?;
    let axis = reader.given_int(0, "axis")?;
    let axis = reader.axis(axis, rank)?;
    let extent = reader.extents(&Arg::Operand(1))?[axis];
    if !(1..=extent.clamp(1, 255)).contains(&count) || extent % count != 0 {
        let text = format!("an axis of {extent} cannot be split into {count}");
        return Err(Refusal::invalid(ReasonCode::Split, text));
    }
    let sizes = std::iter::repeat_n(extent / count, count as usize).collect();
    let axis = axis as i64;
    reader.finish(Split { axis, sizes }, &[Arg::Operand(1)])
}

/// Reads an operator that splits x into parts of given sizes. Operands: x, the sizes (one of them may be −1), and the
/// axis.
fn split_v(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut sizes = reader.known_ints(1, "sizes")?.unwrap_or_default();
    let rank = reader.rank(0)?;
    let axis = reader.given_int(2, "axis")?;
    let axis = reader.axis(axis, rank)?;
    if let Some(open) = sizes.iter().position(|&size| size == -1) {
        let extent = reader.extents(&Arg::Operand(0))?[axis];
        let known = sizes.iter().fold(1i64, |sum, &size| sum.saturating_add(size));
        sizes[open] = extent.saturating_sub(known);
    }
    let op = Split {
        axis: axis as i64,
        sizes: sizes.into(),
    };
    reader.finish(op, &[Arg::Operand(0)])
}

fn unpack(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, UnpackOptions);
    let rank = reader.rank(0)?;
    let axis = reader.axis(option!(options, axis, 0).into(), rank)?;
    let mut extents = reader.extents(&Arg::Operand(0))?;
    let count = extents.remove(axis);
    if count != i64::try_from(reader.result_count()).unwrap_or(-1) || !(1..=255).contains(&count) {
        let text = format!("an axis of {count} cannot be {} results", reader.result_count());
        return Err(Refusal::invalid(ReasonCode::Split, text));
    }
    let sizes = std::iter::repeat_n(1, count as usize).collect();
    let axis = axis as i64;
    let parts = match count {
        1 => std::iter::once(Arg::Operand(0)).collect(),
        _ => reader.push_all(Split { axis, sizes }, &[Arg::Operand(0)])?,
    };
    for (position, part) in parts.iter().enumerate() {
        let shape = extents.as_slice().into();
        reader.finish_result(position, Reshape { shape }, std::slice::from_ref(part))?;
    }
    Ok(())
}

fn reverse(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axes = reader.known_ints(1, "axes")?.unwrap_or_default();
    let op = slice_along(axes.into_iter().map(|axis| (axis, [-1, i64::MIN, -1])));
    reader.finish(op, &[Arg::Operand(0)])
}
