//! Reductions.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::Carrier;
use strait_core::op::{Identity, Reduce, Reduction};

pub(super) const ROWS: &[Row] = &[
    Row::new("ReduceMean", 1, |site| reduce(site, Reduction::Mean, 18)),
    Row::new("ReduceSum", 1, |site| reduce(site, Reduction::Sum, 13)),
    Row::new("ReduceMax", 1, |site| reduce(site, Reduction::Max, 18)),
    Row::new("ReduceMin", 1, |site| reduce(site, Reduction::Min, 18)),
];

/// The axes are an attribute, and an operand from the operator set `since` on. No axes mean all of them, or, where
/// `noop_with_empty_axes` says so, none.
fn reduce(site: &mut NodeReader<'_, '_>, reduction: Reduction, since: i64) -> Result<(), Refusal> {
    let axes = site.list("axes", 1, since)?.unwrap_or_default();
    let keep_dims = site.int("keepdims")?.unwrap_or(1) != 0;
    if axes.is_empty() && site.flag("noop_with_empty_axes")? {
        return site.finish(Identity {}, &[Arg::Operand(0)]);
    }
    site.ignore(&["noop_with_empty_axes"]);
    let op = Reduce {
        reduction,
        axes: axes.into(),
        keep_dims,
        accumulator: Carrier::I32,
    };
    site.finish(op, &[Arg::Operand(0)])
}
