//! Reads operators that join, split, slice and gather.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Gather, Slice, Split};

pub(super) const ROWS: &[Row] = &[
    Row::new("Concat", 4, concat).and(&[11, 13]),
    Row::new("Split", 2, split).and(&[11, 13, 18]),
    Row::new("Slice", 1, slice).and(&[10, 11, 13]),
    Row::new("Gather", 1, gather).and(&[11, 13]),
];

fn concat(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader
        .int("axis")?
        .ok_or_else(|| Refusal::invalid(ReasonCode::Axis, "`axis` is missing"))?;
    let operands: Vec<Arg> = (0..reader.operand_count()).map(Arg::Operand).collect();
    // A Concat with one operand stands between two quantizations of a value, so that runtimes do not merge the two
    // grids.
    if operands.len() == 1 && reader.finish_between_grids()? {
        return Ok(());
    }
    reader.finish(Concat { axis }, &operands)?;
    // A shape may be joined from numbers that are known and numbers that are computed at run time.
    match axis {
        0 | -1 => reader.note_joined(operands.len()),
        _ => Ok(()),
    }
}

/// Reads Split. The sizes are an attribute up to operator set 12, and an operand from 13 on. Without sizes, all parts
/// have the same size. From 18 on, `num_outputs` gives the number of parts, and the last part may be smaller.
fn split(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(0);
    let count = match reader.int("num_outputs")? {
        Some(count) if usize::try_from(count) != Ok(reader.result_count()) => {
            let text = format!(
                "`num_outputs` is {count}, but there are {} results",
                reader.result_count()
            );
            return Err(Refusal::invalid(ReasonCode::Split, text));
        }
        _ => reader.result_count() as i64,
    };
    let sizes = match reader.list("split", 1, 13)? {
        Some(sizes) => sizes,
        None => {
            let extent = reader.extent(&Arg::Operand(0), axis)?;
            let piece = extent
                .checked_add(count - 1)
                .map(|sum| sum / count.max(1))
                .unwrap_or(extent);
            let last = extent - piece.saturating_mul(count - 1);
            if last < 0 || (reader.opset() < 18 && last != piece) {
                let text = format!("an extent of {extent} cannot be split into {count} equal pieces");
                return Err(Refusal::invalid(ReasonCode::Split, text));
            }
            let equal = std::iter::repeat_n(piece, reader.result_count().saturating_sub(1));
            equal.chain([last]).collect()
        }
    };
    if sizes.len() != reader.result_count() {
        let text = format!("{} pieces for {} results", sizes.len(), reader.result_count());
        return Err(Refusal::invalid(ReasonCode::Split, text));
    }
    let sizes = sizes.into();
    reader.finish(Split { axis, sizes }, &[Arg::Operand(0)])
}

/// Reads Slice. Positions, axes and steps are attributes up to operator set 9, and operands from 10 on.
fn slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let missing = || Refusal::invalid(ReasonCode::Slice, "the positions are missing");
    if reader.opset() >= 10
        && let Some(bounds) = reader.late_list(1)?.or(reader.late_list(2)?)
    {
        let axes = reader.known_ints(3, "axes")?;
        let steps = reader.known_ints(4, "steps")?;
        let op = Slice {
            starts: SmallVec::new(),
            ends: SmallVec::new(),
            axes: axes.unwrap_or_else(|| (0..bounds.len() as i64).collect()).into(),
            steps: steps.unwrap_or_else(|| vec![1; bounds.len()]).into(),
        };
        let args = reader.late_operands(&[1, 2])?;
        return reader.finish(op, &args);
    }
    let starts = reader.list("starts", 1, 10)?.ok_or_else(missing)?;
    let ends = reader.list("ends", 2, 10)?.ok_or_else(missing)?;
    let axes = reader
        .list("axes", 3, 10)?
        .unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = match reader.opset() {
        ..10 => None,
        _ => reader.known_ints(4, "steps")?,
    };
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    let op = Slice {
        starts: starts.into(),
        ends: ends.into(),
        axes: axes.into(),
        steps: steps.into(),
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// Reads Gather. Indices are converted to i64, which the op needs.
fn gather(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(0);
    let indices = reader.indices(1)?;
    reader.finish(Gather { axis }, &[Arg::Operand(0), indices])
}
