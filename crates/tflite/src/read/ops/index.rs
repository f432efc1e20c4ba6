//! Reads operators that pick elements by index, or return indices.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use strait_core::ReasonCode;
use strait_core::op::{Gather, GatherNd, Identity, NonZero, Range, Select, Transpose, Unique};

pub(super) const ROWS: &[Row] = &[
    Row::new("GATHER", 8, gather).on_one_grid(),
    Row::new("GATHER_ND", 6, |reader| {
        let places = reader.indices(1)?;
        reader.finish(GatherNd { batch: 0 }, &[Arg::Operand(0), places])
    })
    .on_one_grid(),
    Row::new("EMBEDDING_LOOKUP", 5, |reader| {
        let places = reader.indices(0)?;
        reader.finish(Gather { axis: 0 }, &[Arg::Operand(1), places])
    })
    .on_one_grid(),
    Row::new("REVERSE_SEQUENCE", 1, reverse_sequence).on_one_grid(),
    Row::new("UNIQUE", 1, unique),
    Row::new("RANGE", 2, range),
    Row::new("WHERE", 2, places_of_truths),
    Row::new("ONE_HOT", 1, one_hot),
];

/// Reads a gather. The first axes of both operands are batch axes. The indices apply to the axis after them.
fn gather(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, GatherOptions);
    let rank = reader.rank(0)?;
    let axis = reader.axis(option!(options, axis, 0).into(), rank)?;
    let indices = reader.rank(1)?;
    let batch = i64::from(option!(options, batch_dims, 0));
    let batch = if batch < 0 { batch + indices as i64 } else { batch };
    let places = reader.indices(1)?;
    if batch == 0 {
        return reader.finish(Gather { axis: axis as i64 }, &[Arg::Operand(0), places]);
    }
    let batch = u32::try_from(batch).ok().filter(|&batch| batch as usize == axis);
    let batch = batch.ok_or_else(|| {
        Refusal::unsupported("axes that its operands share are not those in front of the indexed one")
    })?;
    let places = reader.unsqueezed(&places, &[-1])?;
    reader.finish(GatherNd { batch }, &[Arg::Operand(0), places])
}

fn reverse_sequence(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, ReverseSequenceOptions);
    let rank = reader.rank(0)?;
    let time = reader.axis(option!(options, seq_dim, 0).into(), rank)?;
    let batch = reader.axis(option!(options, batch_dim, 0).into(), rank)?;
    let lengths = reader.indices(1)?;
    reader.finish_reversed(&lengths, batch, time)
}

/// Reads an operator whose results are the distinct elements, in the order of their first occurrence, and for each
/// element of the operand, its index among the distinct elements.
fn unique(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = Unique { axis: 0, sorted: false };
    let results = reader.push_all(op, &[Arg::Operand(0)])?;
    let [elements, _, places, _] = results.as_slice() else {
        return Err(Refusal::unsupported("it has not two results"));
    };
    reader.finish_value(elements)?;
    let to = reader.result_elem(1)?;
    let places = reader.converted(places, to)?;
    reader.finish_result(1, Identity {}, &[places])
}

fn range(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1, 2])?;
    reader.finish(Range {}, &[0, 1, 2].map(Arg::Operand))
}

/// Reads an operator that finds all elements that are not 0. The result has a row with the coordinates of each.
fn places_of_truths(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let places = reader.push(NonZero {}, &[Arg::Operand(0)])?;
    let permutation = [1, 0].as_slice().into();
    reader.finish(Transpose { permutation }, &[places])
}

/// Reads a one-hot encoding. Operands: the indices, the depth, the value at the position of the index, and the value
/// elsewhere.
fn one_hot(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, OneHotOptions);
    let depth = reader.given_int(1, "depth")?;
    if depth < 0 {
        return Err(Refusal::invalid(ReasonCode::Axes, format!("its depth is {depth}")));
    }
    let is_it = reader.is_at(&Arg::Operand(0), option!(options, axis, -1).into(), depth)?;
    reader.one_type([2, 3])?;
    reader.finish(Select {}, &[is_it, Arg::Operand(2), Arg::Operand(3)])
}
