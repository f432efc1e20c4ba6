//! Reads reductions over axes.

use strait_core::op::{Cast, Identity, Op, Reduction};
use strait_core::{Elem, ReasonCode};
use strait_import::{Arg, Refusal, reduction_over};

use super::Row;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("Mean", |node| reduce(node, Reduction::Mean)),
    ("Sum", |node| reduce(node, Reduction::Sum)),
    ("Max", |node| reduce(node, Reduction::Max)),
    ("Min", |node| reduce(node, Reduction::Min)),
    ("Prod", |node| reduce(node, Reduction::Product)),
    ("All", |node| truths(node, Reduction::Min)),
    ("Any", |node| truths(node, Reduction::Max)),
];

/// The axes, and whether they are kept with extent 1; `None` if nothing is reduced.
fn axes(node: &mut Node<'_, '_>) -> Result<Option<(Vec<i64>, bool)>, Refusal> {
    let keep = node.flag("keep_dims")?;
    let axes = node.known_ints(1, "axes")?;
    let axes = axes.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the axes are missing"))?;
    // An empty list means no axes here, but all axes in the IR.
    Ok((!axes.is_empty()).then_some((axes, keep)))
}

fn reduce(node: &mut Node<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let op: Op = match axes(node)? {
        None => Identity {}.into(),
        Some((axes, keep)) => reduction_over(reduction, &axes, keep).into(),
    };
    node.finish(op, &[Arg::Operand(0)])
}

/// Reduces booleans as the integers 0 and 1.
fn truths(node: &mut Node<'_, '_>, reduction: Reduction) -> Result<(), Refusal> {
    let Some((axes, keep)) = axes(node)? else {
        return node.finish(Identity {}, &[Arg::Operand(0)]);
    };
    let numbers = node.converted(&Arg::Operand(0), Elem::I64)?;
    let reduced = node.push(reduction_over(reduction, &axes, keep), &[numbers])?;
    node.finish(Cast { to: Elem::Bool }, &[reduced])
}
