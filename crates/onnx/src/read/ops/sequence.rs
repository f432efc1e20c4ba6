//! Reads operators on sequences where each sequence has its own length or offset.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::ReasonCode;
use strait_core::op::{BinaryFunction, Combination, Expand, Scatter, ScatterBy};

pub(super) const ROWS: &[Row] = &[
    Row::new("ReverseSequence", 10, reverse_sequence).and(&[28]),
    Row::new("TensorScatter", 24, tensor_scatter),
];

/// Reverses sequences: step t of a sequence of length n becomes step n − 1 − t. Steps beyond the length do not change.
fn reverse_sequence(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let (batch_axis, time_axis) = (
        site.int("batch_axis")?.unwrap_or(1),
        site.int("time_axis")?.unwrap_or(0),
    );
    let (batch, time) = match (batch_axis, time_axis) {
        (0, 1) => (0, 1),
        (1, 0) => (1, 0),
        _ => {
            let text = format!("`batch_axis` is {batch_axis} and `time_axis` {time_axis}; they are 0 and 1");
            return Err(Refusal::invalid(ReasonCode::Axis, text));
        }
    };
    let lengths = site.indices(1)?;
    site.finish_reversed(&lengths, batch, time)
}

/// Writes the steps of each sequence into a longer one, starting at a position given per sequence, or at 0. In circular
/// mode, steps beyond the end continue at the beginning.
fn tensor_scatter(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let rank = site.rank(0)?;
    let axis = site.int("axis")?.unwrap_or(-2);
    let axis = site.axis(axis, rank)?;
    let is_circular = match site.text("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let (past, update) = (site.extents(&Arg::Operand(0))?, site.extents(&Arg::Operand(1))?);
    if axis == 0 || update.len() != rank {
        let text = format!("steps of {update:?} are put along axis {axis} into {past:?}");
        return Err(Refusal::invalid(ReasonCode::Axis, text));
    }
    let (length, steps) = (past[axis], update[axis]);
    let mut place = site.counted(&[1, steps.unsigned_abs()], steps)?;
    if site.has(2) {
        let start = site.indices(2)?;
        let start = site.reshaped(&start, &[-1, 1])?;
        place = site.plus(&start, &place)?;
    }
    if is_circular {
        let length = site.number(&place, length as f64)?;
        place = site.binary(BinaryFunction::Modulo, &place, &length)?;
    }
    let mut shape = vec![1; rank];
    (shape[0], shape[axis]) = (if site.has(2) { past[0] } else { 1 }, steps);
    let place = site.reshaped(&place, &shape)?;
    let shape = update.as_slice().into();
    let place = site.push(Expand { shape }, &[place])?;
    let op = Scatter {
        by: ScatterBy::Element,
        axis: axis as i64,
        combine: Combination::Replace,
    };
    site.finish(op, &[Arg::Operand(0), place, Arg::Operand(1)])
}
