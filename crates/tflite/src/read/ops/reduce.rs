//! Reads reductions, cumulative sums, and arg-min and arg-max.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use strait_core::op::{ArgReduce, Cast, Cumulative, Extreme, Reduction, Running, TopK};
use strait_core::{Elem, ReasonCode};
use strait_import::reduction_over;

pub(super) const ROWS: &[Row] = &[
    Row::new("MEAN", 3, |site| reduce(site, Reduction::Mean)),
    Row::new("SUM", 2, |site| reduce(site, Reduction::Sum)),
    Row::new("REDUCE_MAX", 3, |site| reduce(site, Reduction::Max)),
    Row::new("REDUCE_MIN", 3, |site| reduce(site, Reduction::Min)),
    Row::new("REDUCE_PROD", 2, |site| reduce(site, Reduction::Product)),
    Row::new("REDUCE_ANY", 1, |site| truths(site, Reduction::Max)),
    Row::new("REDUCE_ALL", 1, |site| truths(site, Reduction::Min)),
    Row::new("ARG_MAX", 3, |site| place(site, Extreme::Maximum)),
    Row::new("ARG_MIN", 3, |site| place(site, Extreme::Minimum)),
    Row::new("CUMSUM", 1, cumsum),
    Row::new("TOPK_V2", 3, top_k),
];

/// The axes, without duplicates, and whether they are kept with extent 1.
fn axes(site: &mut Site<'_, '_>) -> Result<(Vec<i64>, bool), Refusal> {
    let options = options!(site, ReducerOptions);
    let keeps = option!(options, keep_dims, false);
    let rank = site.rank(0)?;
    let given = site.known_ints(1, "axes")?.unwrap_or_default();
    let mut axes = Vec::new();
    for axis in given {
        axes.push(site.axis(axis, rank)? as i64);
    }
    axes.sort_unstable();
    axes.dedup();
    Ok((axes, keeps))
}

fn reduce(site: &mut Site<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let (axes, keeps) = axes(site)?;
    match axes.is_empty() {
        true => site.finish_value(&Arg::Operand(0)),
        false => site.finish(reduction_over(reduction, &axes, keeps), &[Arg::Operand(0)]),
    }
}

/// Reduces booleans as integers.
fn truths(site: &mut Site<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let (axes, keeps) = axes(site)?;
    if axes.is_empty() {
        return site.finish_value(&Arg::Operand(0));
    }
    let numbers = site.converted(&Arg::Operand(0), Elem::I64)?;
    let reduced = site.push(reduction_over(reduction, &axes, keeps), &[numbers])?;
    site.finish(Cast { to: Elem::Bool }, &[reduced])
}

/// A single integer given as an operand.
pub(super) fn known_int(site: &mut Site<'_, '_>, position: usize, what: &str) -> Result<i64, Refusal> {
    match site.known_ints(position, what)?.as_deref() {
        Some(&[number]) => Ok(number),
        other => {
            let text = format!("its {what} is {:?}, and not one number", other.unwrap_or_default());
            Err(Refusal::invalid(ReasonCode::OperandType, text))
        }
    }
}

fn place(site: &mut Site<'_, '_>, extreme: Extreme) -> Result<(), Refusal> {
    let axis = known_int(site, 1, "axis")?;
    let op = ArgReduce {
        extreme,
        axis,
        keep_dims: false,
        last: false,
    };
    let place = site.push(op, &[Arg::Operand(0)])?;
    let to = site.result_elem(0)?;
    let place = site.converted(&place, to)?;
    site.finish_value(&place)
}

fn cumsum(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, CumsumOptions);
    let op = Cumulative {
        of: Running::Sum,
        axis: known_int(site, 1, "axis")?,
        exclusive: option!(options, exclusive, false),
        reverse: option!(options, reverse, false),
    };
    site.finish(op, &[Arg::Operand(0)])
}

fn top_k(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let k = known_int(site, 1, "count")?;
    let op = TopK {
        k,
        axis: -1,
        largest: true,
    };
    let results = site.push_all(op, &[Arg::Operand(0)])?;
    let [values, places] = results.as_slice() else {
        return Err(Refusal::unsupported("it has not two results"));
    };
    site.finish_value(&values.clone())?;
    let places = site.converted(&places.clone(), Elem::I32)?;
    site.finish_result(1, strait_core::op::Identity {}, &[places])
}
