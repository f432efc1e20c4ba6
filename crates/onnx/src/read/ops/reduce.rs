//! Reads reductions.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Add, Clip, Function, Identity, Mul, Op, Reduction, Squeeze};
use strait_import::reduction_over;

pub(super) const ROWS: &[Row] = &[
    Row::new("ReduceMean", 1, |reader| reduce(reader, Reduction::Mean, 18)).and(&[11, 13, 18]),
    Row::new("ReduceSum", 1, |reader| reduce(reader, Reduction::Sum, 13)).and(&[11, 13]),
    Row::new("ReduceMax", 1, |reader| reduce(reader, Reduction::Max, 18)).and(&[11, 12, 13, 18, 20]),
    Row::new("ReduceMin", 1, |reader| reduce(reader, Reduction::Min, 18)).and(&[11, 12, 13, 18, 20]),
    Row::new("ReduceProd", 1, |reader| reduce(reader, Reduction::Product, 18)).and(&[11, 13, 18]),
    Row::new("ReduceL1", 1, |reader| {
        let magnitudes = (Function::Abs.into(), Vec::new());
        sum_of(reader, Some(magnitudes), None)
    })
    .and(&[11, 13, 18]),
    Row::new("ReduceL2", 1, |reader| {
        sum_of(reader, Some(squares()), Some(Function::Sqrt))
    })
    .and(&[11, 13, 18]),
    Row::new("ReduceSumSquare", 1, |reader| sum_of(reader, Some(squares()), None)).and(&[11, 13, 18]),
    Row::new("ReduceLogSum", 1, |reader| sum_of(reader, None, Some(Function::Log))).and(&[11, 13, 18, 28]),
    Row::new("ReduceLogSumExp", 1, log_sum_exp).and(&[11, 13, 18, 28]),
];

/// Returns the reduced axes, and whether they are kept with extent 1. Returns `None` if no axis is reduced.
///
/// The axes are an attribute, and from operator set `since` on an operand. An empty list means all axes, or none if
/// `noop_with_empty_axes` is set.
fn axes(reader: &mut OperatorReader<'_, '_>, since: i64) -> Result<Option<(Vec<i64>, bool)>, Refusal> {
    let axes = reader.list("axes", 1, since)?.unwrap_or_default();
    let keep_dims = reader.int("keepdims")?.unwrap_or(1) != 0;
    let is_nothing = reader.flag("noop_with_empty_axes")? && axes.is_empty();
    Ok((!is_nothing).then_some((axes, keep_dims)))
}

fn reduce(reader: &mut OperatorReader<'_, '_>, reduction: Reduction, since: i64) -> Result<(), Refusal> {
    match axes(reader, since)? {
        None => reader.finish(Identity {}, &[Arg::Operand(0)]),
        Some((axes, keep_dims)) => reader.finish(reduction_over(reduction, &axes, keep_dims), &[Arg::Operand(0)]),
    }
}

/// An op on operand 0, and its other operands.
type Step = (Op, Vec<Arg>);

fn squares() -> Step {
    (Mul::float().into(), vec![Arg::Operand(0)])
}

/// Applies `of` to each element, computes the sum, and applies `after` to the sum. Both functions are applied even if
/// no axis is reduced.
fn sum_of(reader: &mut OperatorReader<'_, '_>, of: Option<Step>, after: Option<Function>) -> Result<(), Refusal> {
    let mut steps = Vec::from_iter(of);
    if let Some((axes, keep_dims)) = axes(reader, 18)? {
        steps.push((reduction_over(Reduction::Sum, &axes, keep_dims).into(), Vec::new()));
    }
    steps.extend(after.map(|function| (function.into(), Vec::new())));
    reader.finish_chain(Arg::Operand(0), steps)
}

/// Computes ln Σ exp x as m + ln Σ exp(x − m). With the maximum of x as m, this never overflows. If the maximum is
/// infinite, m is the largest finite float instead; each exponential is then 0 or infinite, which is correct.
fn log_sum_exp(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let Some((axes, keep_dims)) = axes(reader, 18)? else {
        return reader.finish(Identity {}, &[x]);
    };
    let largest = reader.reduced(Reduction::Max, &x, &axes)?;
    let finite = Clip {
        min: f32::MIN,
        max: f32::MAX,
    };
    let mut largest = reader.push(finite, &[largest])?;
    let below = reader.minus(&x, &largest)?;
    let exponentials = reader.function(Function::Exp, &below)?;
    let sum = reader.push(reduction_over(Reduction::Sum, &axes, keep_dims), &[exponentials])?;
    let logarithm = reader.function(Function::Log, &sum)?;
    if !keep_dims {
        let rank = reader.rank(0)? as i64;
        let axes = if axes.is_empty() { (0..rank).collect() } else { axes };
        largest = reader.push(Squeeze { axes: axes.into() }, &[largest])?;
    }
    reader.finish(Add {}, &[logarithm, largest])
}
