//! Reads reductions, cumulative sums, and arg-min and arg-max.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use strait_core::Elem;
use strait_core::op::{ArgReduce, Cast, Cumulative, Extreme, Reduction, Running, TopK};
use strait_import::reduction_over;

pub(super) const ROWS: &[Row] = &[
    Row::new("MEAN", 3, |reader| reduce(reader, Reduction::Mean)),
    Row::new("SUM", 2, |reader| reduce(reader, Reduction::Sum)),
    Row::new("REDUCE_MAX", 3, |reader| reduce(reader, Reduction::Max)).on_one_grid(),
    Row::new("REDUCE_MIN", 3, |reader| reduce(reader, Reduction::Min)).on_one_grid(),
    Row::new("REDUCE_PROD", 2, |reader| reduce(reader, Reduction::Product)),
    Row::new("REDUCE_ANY", 1, |reader| truths(reader, Reduction::Max)),
    Row::new("REDUCE_ALL", 1, |reader| truths(reader, Reduction::Min)),
    Row::new("ARG_MAX", 3, |reader| place(reader, Extreme::Maximum)),
    Row::new("ARG_MIN", 3, |reader| place(reader, Extreme::Minimum)),
    Row::new("CUMSUM", 1, cumsum),
    Row::new("TOPK_V2", 3, top_k),
];

/// The reduced axes without duplicates, and whether they are kept with extent 1.
fn axes(reader: &mut OperatorReader<'_, '_>) -> Result<(Vec<i64>, bool), Refusal> {
    let options = options!(reader, ReducerOptions);
    let keeps = option!(options, keep_dims, false);
    let rank = reader.rank(0)?;
    let given = reader.known_ints(1, "axes")?.unwrap_or_default();
    let mut axes = Vec::new();
    for axis in given {
        axes.push(reader.axis(axis, rank)? as i64);
    }
    axes.sort_unstable();
    axes.dedup();
    Ok((axes, keeps))
}

fn reduce(reader: &mut OperatorReader<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let (axes, keeps) = axes(reader)?;
    match axes.is_empty() {
        true => reader.finish_value(&Arg::Operand(0)),
        false => reader.finish(reduction_over(reduction, &axes, keeps), &[Arg::Operand(0)]),
    }
}

/// Reads a reduction of booleans, which are converted to integers.
fn truths(reader: &mut OperatorReader<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let (axes, keeps) = axes(reader)?;
    if axes.is_empty() {
        return reader.finish_value(&Arg::Operand(0));
    }
    let numbers = reader.converted(&Arg::Operand(0), Elem::I64)?;
    let reduced = reader.push(reduction_over(reduction, &axes, keeps), &[numbers])?;
    reader.finish(Cast { to: Elem::Bool }, &[reduced])
}

fn place(reader: &mut OperatorReader<'_, '_>, extreme: Extreme) -> Result<(), Refusal> {
    let axis = reader.given_int(1, "axis")?;
    let op = ArgReduce {
        extreme,
        axis,
        keep_dims: false,
        last: false,
    };
    let place = reader.push(op, &[Arg::Operand(0)])?;
    let to = reader.result_elem(0)?;
    let place = reader.converted(&place, to)?;
    reader.finish_value(&place)
}

fn cumsum(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, CumsumOptions);
    let op = Cumulative {
        of: Running::Sum,
        axis: reader.given_int(1, "axis")?,
        exclusive: option!(options, exclusive, false),
        reverse: option!(options, reverse, false),
    };
    reader.finish(op, &[Arg::Operand(0)])
}

fn top_k(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let k = reader.given_int(1, "count")?;
    let op = TopK {
        k,
        axis: -1,
        largest: true,
    };
    let results = reader.push_all(op, &[Arg::Operand(0)])?;
    let [values, places] = results.as_slice() else {
        return Err(Refusal::unsupported("it has not two results"));
    };
    reader.finish_value(&values.clone())?;
    let places = reader.converted(&places.clone(), Elem::I32)?;
    reader.finish_result(1, strait_core::op::Identity {}, &[places])
}
