//! Reads slices and splits.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use strait_core::ReasonCode;
use strait_core::op::{Op, Reshape, Slice, Split, Squeeze};

pub(super) const ROWS: &[Row] = &[
    Row::new("SLICE", 8, slice),
    Row::new("STRIDED_SLICE", 8, strided_slice),
    Row::new("SPLIT", 5, split),
    Row::new("SPLIT_V", 3, split_v),
    Row::new("UNPACK", 6, unpack),
    Row::new("REVERSE_V2", 4, reverse),
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
    let end = |(&begin, &size): (&i64, &i64)| match size {
        -1 => i64::MAX,
        size => begin.saturating_add(size),
    };
    let op = Slice {
        ends: begins.iter().zip(&sizes).map(end).collect(),
        starts: begins.into(),
        axes: (0..rank as i64).collect(),
        steps: std::iter::repeat_n(1, rank).collect(),
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// One entry of a strided slice: a range along an axis of the operand, or a new axis of the result.
enum Entry {
    Range {
        start: i64,
        end: i64,
        step: i64,
    },
    /// A single element along an axis. The axis is removed.
    Element(i64),
    New,
}

fn strided_slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, StridedSliceOptions);
    let mask = |mask: i32| move |at: usize| at < 31 && mask & (1 << at) != 0;
    let (begin, end) = (
        mask(option!(options, begin_mask, 0)),
        mask(option!(options, end_mask, 0)),
    );
    let ellipsis = mask(option!(options, ellipsis_mask, 0));
    let (new, shrink) = (
        mask(option!(options, new_axis_mask, 0)),
        mask(option!(options, shrink_axis_mask, 0)),
    );
    let is_offset = option!(options, offset, false);
    let starts = reader.known_ints(1, "begin")?.unwrap_or_default();
    let ends = reader.known_ints(2, "end")?.unwrap_or_default();
    let steps = reader.known_ints(3, "strides")?.unwrap_or_default();
    let rank = reader.rank(0)?;
    let invalid = |text: &str| Refusal::invalid(ReasonCode::Slice, text.to_owned());
    if starts.len() != ends.len() || starts.len() != steps.len() {
        return Err(invalid("begin, end and strides have different lengths"));
    }
    let taken = (0..starts.len()).filter(|&at| !new(at) && !ellipsis(at)).count();
    let mut missing = rank
        .checked_sub(taken)
        .ok_or_else(|| invalid("it names more axes than there are"))?;
    let all = || Entry::Range {
        start: 0,
        end: i64::MAX,
        step: 1,
    };
    let mut entries = Vec::new();
    for at in 0..starts.len() {
        let (start, step) = (starts[at], steps[at]);
        entries.push(match () {
            () if ellipsis(at) => {
                entries.extend((0..std::mem::take(&mut missing)).map(|_| all()));
                continue;
            }
            () if new(at) => Entry::New,
            () if shrink(at) => Entry::Element(start),
            () if step == 0 => return Err(invalid("a stride is 0")),
            () => {
                let end_at = if is_offset {
                    start.saturating_add(ends[at])
                } else {
                    ends[at]
                };
                let (first, last) = if step > 0 { (0, i64::MAX) } else { (i64::MAX, i64::MIN) };
                Entry::Range {
                    start: if begin(at) { first } else { start },
                    end: if end(at) { last } else { end_at },
                    step,
                }
            }
        });
    }
    entries.extend((0..missing).map(|_| all()));
    let shape = reader.ty(0)?.shape;
    let mut op = Slice {
        starts: Default::default(),
        ends: Default::default(),
        axes: Default::default(),
        steps: Default::default(),
    };
    let (mut dropped, mut added, mut axis, mut place) = (Vec::new(), Vec::new(), 0usize, 0i64);
    for entry in entries {
        let (start, end, step) = match entry {
            Entry::New => {
                added.push(place);
                place += 1;
                continue;
            }
            Entry::Range { start, end, step } => {
                place += 1;
                (start, end, step)
            }
            Entry::Element(at) => {
                dropped.push(axis as i64);
                let last = at.checked_add(1).filter(|&next| next != 0).unwrap_or(i64::MAX);
                let extent = shape
                    .get(axis)
                    .and_then(|dim| dim.fixed())
                    .and_then(|extent| i64::try_from(extent).ok());
                if extent.is_some_and(|extent| at >= extent || at < -extent) {
                    return Err(invalid("it picks an element that is not there"));
                }
                (at, last, 1)
            }
        };
        if (start, end, step) != (0, i64::MAX, 1) {
            op.starts.push(start);
            op.ends.push(end);
            op.axes.push(axis as i64);
            op.steps.push(step);
        }
        axis += 1;
    }
    let mut x = Arg::Operand(0);
    let mut last: Op = op.into();
    if !dropped.is_empty() {
        x = reader.push(last, &[x])?;
        last = Squeeze { axes: dropped.into() }.into();
    }
    if !added.is_empty() {
        x = reader.push(last, &[x])?;
        last = strait_core::op::Unsqueeze { axes: added.into() }.into();
    }
    reader.finish(last, &[x])
}

/// Reads an operator that splits x into equal parts. Operands: the axis, and x.
fn split(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, SplitOptions);
    let count = i64::from(option!(options, num_splits, 0));
    let rank = reader.rank(1)?;
    let axis = super::reduce::known_int(reader, 0, "axis")?;
    let axis = reader.axis(axis, rank)?;
    let extent = reader.extents(&Arg::Operand(1))?[axis];
    if !(1..=extent.clamp(1, 255)).contains(&count) || extent % count != 0 {
        let text = format!("an axis of {extent} cannot be split into {count}");
        return Err(Refusal::invalid(ReasonCode::Split, text));
    }
    let sizes = std::iter::repeat_n(extent / count, count as usize).collect();
    reader.finish(
        Split {
            axis: axis as i64,
            sizes,
        },
        &[Arg::Operand(1)],
    )
}

/// Reads an operator that splits x into parts of given sizes. Operands: x, the sizes (one of them may be −1), and the
/// axis.
fn split_v(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut sizes = reader.known_ints(1, "sizes")?.unwrap_or_default();
    let rank = reader.rank(0)?;
    let axis = super::reduce::known_int(reader, 2, "axis")?;
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
    let parts = match count {
        1 => std::iter::once(Arg::Operand(0)).collect(),
        _ => reader.push_all(
            Split {
                axis: axis as i64,
                sizes,
            },
            &[Arg::Operand(0)],
        )?,
    };
    for (position, part) in parts.iter().enumerate() {
        let shape = extents.as_slice().into();
        reader.finish_result(position, Reshape { shape }, std::slice::from_ref(part))?;
    }
    Ok(())
}

fn reverse(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axes = reader.known_ints(1, "axes")?.unwrap_or_default();
    let count = axes.len();
    let op = Slice {
        starts: std::iter::repeat_n(-1, count).collect(),
        ends: std::iter::repeat_n(i64::MIN, count).collect(),
        axes: axes.into(),
        steps: std::iter::repeat_n(-1, count).collect(),
    };
    reader.finish(op, &[Arg::Operand(0)])
}
