//! Reads reductions over axes.

use strait_core::op::{Cast, Identity, Op, Reduction};
use strait_core::{Elem, ReasonCode};
use strait_import::{Arg, Refusal, reduction_over};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Mean", |reader| reduce(reader, Reduction::Mean)),
    ("Sum", |reader| reduce(reader, Reduction::Sum)),
    ("Max", |reader| reduce(reader, Reduction::Max)),
    ("Min", |reader| reduce(reader, Reduction::Min)),
    ("Prod", |reader| reduce(reader, Reduction::Product)),
    ("All", |reader| truths(reader, Reduction::Min)),
    ("Any", |reader| truths(reader, Reduction::Max)),
];

/// The reduced axes, and whether they are kept with extent 1; `None` if no axis is reduced.
fn axes(reader: &mut OperatorReader<'_, '_>) -> Result<Option<(Vec<i64>, bool)>, Refusal> {
    let keep = reader.flag("keep_dims")?;
    let axes = reader.known_ints(1, "axes")?;
    let axes = axes.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the axes are missing"))?;
    // In TensorFlow, an empty list means no axes; in the IR, it means all axes.
    Ok((!axes.is_empty()).then_some((axes, keep)))
}

fn reduce(reader: &mut OperatorReader<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let op: Op = match axes(reader)? {
        None => Identity {}.into(),
        Some((axes, keep)) => reduction_over(reduction, &axes, keep).into(),
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// Reads a reduction of booleans, which are converted to the integers 0 and 1.
fn truths(reader: &mut OperatorReader<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let Some((axes, keep)) = axes(reader)? else {
        return reader.finish(Identity {}, &[Arg::Operand(0)]);
    };
    let numbers = reader.converted(&Arg::Operand(0), Elem::I64)?;
    let reduced = reader.push(reduction_over(reduction, &axes, keep), &[numbers])?;
    reader.finish(Cast { to: Elem::Bool }, &[reduced])
}
