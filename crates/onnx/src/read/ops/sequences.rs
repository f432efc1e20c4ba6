//! Reads operators on sequences of tensors. Positions in a sequence have to be known, so that its tensors can take the
//! place of the sequence.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Identity, Split, Squeeze, Unsqueeze};

pub(super) const ROWS: &[Row] = &[
    Row::new("ConcatFromSequence", 11, concat),
    Row::new("SequenceAt", 11, at),
    Row::new("SequenceConstruct", 11, construct),
    Row::new("SequenceEmpty", 11, empty),
    Row::new("SequenceErase", 11, erase),
    Row::new("SequenceInsert", 11, insert),
    Row::new("SequenceLength", 11, length),
    Row::new("SplitToSequence", 11, split).and(&[24]),
];

/// Splits a tensor into a sequence. The operand `split` has either the extent of each part, or one extent for all
/// parts; in the second case, the last part may be smaller. Without this operand, each part is one position of the
/// axis, and the axis may be removed.
fn split(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(0);
    let keeps = reader.int("keepdims")?.unwrap_or(1) != 0;
    let x = Arg::Operand(0);
    let extents = reader.extents(&x)?;
    let extent = extents[reader.axis(axis, extents.len())?];
    let is_list = reader.has(1) && reader.rank(1)? == 1;
    let given = reader.known_ints(1, "split")?;
    let sizes: Vec<i64> = match (&given, is_list) {
        (Some(sizes), true) => sizes.clone(),
        (Some(size), false) => {
            let size = size.first().copied().filter(|&size| size > 0);
            let size = size.ok_or_else(|| Refusal::invalid(ReasonCode::Split, "a piece has no extent"))?;
            reader.room(&[extent.unsigned_abs() / size.unsigned_abs() + 1])?;
            let starts = (0..extent).step_by(usize::try_from(size).unwrap_or(usize::MAX));
            starts.map(|start| size.min(extent - start)).collect()
        }
        (None, _) => {
            reader.room(&[extent.unsigned_abs()])?;
            vec![1; usize::try_from(extent).unwrap_or(0)]
        }
    };
    if sizes.is_empty() {
        return reader.finish_sequence(Vec::new());
    }
    let pieces = match sizes.len() {
        1 => [reader.push(Identity {}, &[x])?].into(),
        _ => {
            let sizes = sizes.into();
            reader.push_all(Split { axis, sizes }, &[x])?
        }
    };
    let mut tensors = Vec::with_capacity(pieces.len());
    for piece in pieces {
        tensors.push(match keeps || given.is_some() {
            true => piece,
            false => reader.push(Squeeze { axes: smallvec![axis] }, &[piece])?,
        });
    }
    reader.finish_sequence(tensors)
}

fn construct(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let tensors = (0..reader.operand_count()).map(Arg::Operand).collect();
    reader.finish_sequence(tensors)
}

fn empty(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.int("dtype")?;
    reader.finish_sequence(Vec::new())
}

/// Inserts a tensor before the tensor at a position, or at the end.
fn insert(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut tensors = reader.sequence(0)?;
    let place = reader.place_in_sequence(2, tensors.len() + 1)?;
    tensors.insert(place.unwrap_or(tensors.len()), Arg::Operand(1));
    reader.finish_sequence(tensors)
}

fn erase(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut tensors = reader.sequence(0)?;
    let last = tensors.len().checked_sub(1);
    match reader.place_in_sequence(1, tensors.len())?.or(last) {
        Some(place) => tensors.remove(place),
        None => return Err(Refusal::invalid(ReasonCode::Axis, "the sequence is empty")),
    };
    reader.finish_sequence(tensors)
}

fn at(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut tensors = reader.sequence(0)?;
    match reader.place_in_sequence(1, tensors.len())? {
        Some(place) => reader.finish(Identity {}, &[tensors.swap_remove(place)]),
        None => Err(Refusal::invalid(ReasonCode::MissingOperand, "the position is missing")),
    }
}

fn length(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let length = reader.sequence(0)?.len();
    let length = reader.integers(&[], &[length as i64])?;
    reader.finish_constant(length);
    Ok(())
}

/// Joins the tensors of a sequence along an existing axis or along a new one.
fn concat(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?;
    let axis = axis.ok_or_else(|| Refusal::invalid(ReasonCode::Axis, "the attribute `axis` is missing"))?;
    let is_new = reader.int("new_axis")?.unwrap_or(0) != 0;
    let mut tensors = reader.sequence(0)?;
    if is_new {
        for tensor in &mut tensors {
            *tensor = reader.push(Unsqueeze { axes: smallvec![axis] }, std::slice::from_ref(tensor))?;
        }
    }
    if tensors.is_empty() {
        return Err(Refusal::invalid(ReasonCode::MissingOperand, "the sequence is empty"));
    }
    reader.finish(Concat { axis }, &tensors)
}
