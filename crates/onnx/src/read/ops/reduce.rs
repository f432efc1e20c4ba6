//! Reads reductions.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::op::{Add, Clip, Function, Identity, Mul, Op, Reduce, Reduction, Squeeze, Unary};
use strait_import::reduction_over;

pub(super) const ROWS: &[Row] = &[
    Row::new("ReduceMean", 1, |site| reduce(site, Reduction::Mean, 18)).and(&[11, 13, 18]),
    Row::new("ReduceSum", 1, |site| reduce(site, Reduction::Sum, 13)).and(&[11, 13]),
    Row::new("ReduceMax", 1, |site| reduce(site, Reduction::Max, 18)).and(&[11, 12, 13, 18, 20]),
    Row::new("ReduceMin", 1, |site| reduce(site, Reduction::Min, 18)).and(&[11, 12, 13, 18, 20]),
    Row::new("ReduceProd", 1, |site| reduce(site, Reduction::Product, 18)).and(&[11, 13, 18]),
    Row::new("ReduceL1", 1, |site| sum_of(site, Some(Of::Magnitudes), None)).and(&[11, 13, 18]),
    Row::new("ReduceL2", 1, |site| {
        sum_of(site, Some(Of::Squares), Some(Function::Sqrt))
    })
    .and(&[11, 13, 18]),
    Row::new("ReduceSumSquare", 1, |site| sum_of(site, Some(Of::Squares), None)).and(&[11, 13, 18]),
    Row::new("ReduceLogSum", 1, |site| sum_of(site, None, Some(Function::Log))).and(&[11, 13, 18, 28]),
    Row::new("ReduceLogSumExp", 1, log_sum_exp).and(&[11, 13, 18, 28]),
];

/// The axes, and whether they are kept with extent 1; `None` if nothing is reduced.
///
/// The axes are an attribute, and from operator set `since` on an operand. An empty list means all axes, or none if
/// `noop_with_empty_axes` is set.
fn axes(site: &mut NodeReader<'_, '_>, since: i64) -> Result<Option<(Vec<i64>, bool)>, Refusal> {
    let axes = site.list("axes", 1, since)?.unwrap_or_default();
    let keep_dims = site.int("keepdims")?.unwrap_or(1) != 0;
    let is_nothing = site.flag("noop_with_empty_axes")? && axes.is_empty();
    Ok((!is_nothing).then_some((axes, keep_dims)))
}

fn reduce(site: &mut NodeReader<'_, '_>, reduction: Reduction, since: i64) -> Result<(), Refusal> {
    match axes(site, since)? {
        None => site.finish(Identity {}, &[Arg::Operand(0)]),
        Some((axes, keep_dims)) => site.finish(reduction_over(reduction, &axes, keep_dims), &[Arg::Operand(0)]),
    }
}

/// A function of each element, applied before a sum.
#[derive(Clone, Copy)]
enum Of {
    Magnitudes,
    Squares,
}

impl Of {
    fn op(self) -> (Op, Vec<Arg>) {
        let x = Arg::Operand(0);
        match self {
            Of::Magnitudes => {
                let function = Function::Abs;
                (Unary { function }.into(), vec![x])
            }
            Of::Squares => (Mul::float().into(), vec![x.clone(), x]),
        }
    }
}

/// Applies `of` to each element, sums, and applies `after` to the sum. The functions are applied even if no axis is
/// reduced.
fn sum_of(site: &mut NodeReader<'_, '_>, of: Option<Of>, after: Option<Function>) -> Result<(), Refusal> {
    let mut steps: Vec<(Op, Vec<Arg>)> = of.map(Of::op).into_iter().collect();
    if let Some((axes, keep_dims)) = axes(site, 18)? {
        steps.push((reduction_over(Reduction::Sum, &axes, keep_dims).into(), Vec::new()));
    }
    steps.extend(after.map(|function| (Unary { function }.into(), Vec::new())));
    let mut x = Arg::Operand(0);
    let last = steps.pop().unwrap_or((Identity {}.into(), Vec::new()));
    let args = |given: Vec<Arg>, x: &Arg| if given.is_empty() { vec![x.clone()] } else { given };
    for (op, given) in steps {
        x = site.push(op, &args(given, &x))?;
    }
    site.finish(last.0, &args(last.1, &x))
}

/// ln Σ exp x = m + ln Σ exp(x − m). With m the maximum, this never overflows. If the maximum is infinite, m is the
/// largest float; the exponentials are then 0 or infinite by themselves.
fn log_sum_exp(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let Some((axes, keep_dims)) = axes(site, 18)? else {
        return site.finish(Identity {}, &[x]);
    };
    let largest = site.reduced(Reduction::Max, &x, &axes)?;
    let finite = Clip {
        min: f32::MIN,
        max: f32::MAX,
    };
    let mut largest = site.push(finite, &[largest])?;
    let below = site.minus(&x, &largest)?;
    let exponentials = site.function(Function::Exp, &below)?;
    let sum: Reduce = reduction_over(Reduction::Sum, &axes, keep_dims);
    let sum = site.push(sum, &[exponentials])?;
    let logarithm = site.function(Function::Log, &sum)?;
    if !keep_dims {
        let rank = site.rank(0)? as i64;
        let axes = if axes.is_empty() { (0..rank).collect() } else { axes };
        largest = site.push(Squeeze { axes: axes.into() }, &[largest])?;
    }
    site.finish(Add {}, &[logarithm, largest])
}
