//! Reads operators on sequences that each have their own length or offset.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::{BinaryFunction, Combination, Expand};
use strait_import::scatter_elements;

pub(super) const ROWS: &[Row] = &[
    Row::new("ReverseSequence", 10, reverse_sequence).and(&[28]),
    Row::new("TensorScatter", 24, tensor_scatter),
];

/// Reverses sequences: in a sequence of length n, step t becomes step n − 1 − t. Steps beyond the length do not change.
fn reverse_sequence(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (batch_axis, time_axis) = (
        reader.int("batch_axis")?.unwrap_or(1),
        reader.int("time_axis")?.unwrap_or(0),
    );
    let (batch, time) = match (batch_axis, time_axis) {
        (0, 1) => (0, 1),
        (1, 0) => (1, 0),
        _ => {
            let text = format!("`batch_axis` is {batch_axis} and `time_axis` {time_axis}; they are 0 and 1");
            return Err(Refusal::invalid(ReasonCode::Axis, text));
        }
    };
    let lengths = reader.indices(1)?;
    reader.finish_reversed(&lengths, batch, time)
}

/// Writes the steps of each sequence into a longer sequence, from a given position on. Each sequence has its own
/// position. If no positions are given, all of them are 0. In circular mode, steps beyond the end continue at the
/// beginning.
fn tensor_scatter(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    let axis = reader.int("axis")?.unwrap_or(-2);
    let axis = reader.axis(axis, rank)?;
    let is_circular = match reader.text("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let (past, update) = (reader.extents(&Arg::Operand(0))?, reader.extents(&Arg::Operand(1))?);
    if axis == 0 || update.len() != rank {
        let text = format!("steps of {update:?} are put along axis {axis} into {past:?}");
        return Err(Refusal::invalid(ReasonCode::Axis, text));
    }
    let (length, steps) = (past[axis], update[axis]);
    let mut place = reader.counted(&[1, steps.unsigned_abs()], steps)?;
    if reader.has(2) {
        let start = reader.indices(2)?;
        let start = reader.reshaped(&start, &[-1, 1])?;
        place = reader.plus(&start, &place)?;
    }
    if is_circular {
        let length = reader.number(&place, length as f64)?;
        place = reader.binary(BinaryFunction::Modulo, &place, &length)?;
    }
    let mut shape = vec![1; rank];
    (shape[0], shape[axis]) = (if reader.has(2) { past[0] } else { 1 }, steps);
    let place = reader.reshaped(&place, &shape)?;
    let shape = update.as_slice().into();
    let place = reader.push(Expand { shape }, &[place])?;
    let op = scatter_elements(axis as i64, Combination::Replace);
    reader.finish(op, &[Arg::Operand(0), place, Arg::Operand(1)])
}
