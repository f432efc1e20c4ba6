//! Reductions over axes.

use super::super::Site;
use super::super::emitter::{Emitter, Refused};
use super::super::flatbuffer::Table;
use strait_core::op::{Reduce, Reduction};

pub(super) fn reduce(emitter: &mut Emitter<'_>, site: &Site<'_>, reduce: &Reduce) -> Result<(), Refused> {
    let name = match reduce.reduction {
        Reduction::Mean => "MEAN",
        Reduction::Sum => "SUM",
        Reduction::Max => "REDUCE_MAX",
        Reduction::Min => "REDUCE_MIN",
        Reduction::Product => "REDUCE_PROD",
    };
    let value = emitter.operand(site.node, 0)?;
    let rank = emitter.graph.value(value).map_or(0, |value| value.ty.shape.len());
    let axes = reduce.reduced(rank).map_err(|reason| reason.text)?;
    over(emitter, site, name, &axes, reduce.keep_dims)
}

/// The mean of each channel of an image.
pub(super) fn global_average(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let value = emitter.operand(site.node, 0)?;
    let rank = emitter.graph.value(value).map_or(0, |value| value.ty.shape.len());
    let axes: Vec<usize> = (2..rank).collect();
    over(emitter, site, "MEAN", &axes, true)
}

fn over(
    emitter: &mut Emitter<'_>,
    site: &Site<'_>,
    name: &'static str,
    axes: &[usize],
    keeps: bool,
) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let order = emitter.layouts.read(emitter.graph, site.node, 0);
    let mut axes: Vec<i32> = axes
        .iter()
        .filter_map(|&axis| order.position(axis))
        .map(|axis| axis as i32)
        .collect();
    axes.sort_unstable();
    let axes = emitter.ints(&axes)?;
    let made = emitter.result(site.node)?;
    let options = Table::default().byte(0, keeps.into(), 0);
    emitter.emit(name, &[x, axes], &[made], Some(options))
}
