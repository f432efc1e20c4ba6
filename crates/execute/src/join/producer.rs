//! Joins a chain of float steps with the convolution or matrix product that computes its accumulators.

use super::float_steps::Found;
use super::scope::{FoundJoin, Join, Joins, Scope};
use crate::float::volume;
use crate::integer::{conv, gemm};
use crate::reference::Grids;
use smallvec::SmallVec;
use strait_core::{Op, ValueId};
use strait_kernels::mixed::FloatChain;
use strait_requantize::IntType;

/// Makes the join, whose results are those of the chain. `None` if another node uses the accumulators, or if the loops of the
/// producer do not take the chain.
pub(super) fn join(
    scope: &Scope<'_>,
    joins: &Joins,
    found: &Found,
    kernel: &FloatChain,
    outputs: &SmallVec<[ValueId; 1]>,
) -> FoundJoin {
    let ([operand], [output]) = (&found.operands[..], &outputs[..]) else {
        return Ok(None);
    };
    let (value, Some((IntType::I32, grids))) = (operand.value, &operand.codes) else {
        return Ok(None);
    };
    let Some((id, node)) = scope.graph.producer(value) else {
        return Ok(None);
    };
    if joins.taken[id.index()] || node.fused.is_some() || scope.graph.only_use(value).is_none() {
        return Ok(None);
    }
    let mut site = scope.site(id)?;
    if !fits(grids, &site.outputs[0].dims) || volume::applies(&site) {
        return Ok(None);
    }
    site.chain = Some(kernel.clone());
    site.outputs[0] = scope.slot(*output)?;
    let step = match &node.op {
        Op::Conv(op) => conv::prepare(op, &site),
        Op::Gemm(op) => gemm::prepare(op, &site),
        _ => return Ok(None),
    };
    let Some(step) = step.map_err(|error| scope.error(id, error))? else {
        return Ok(None);
    };
    let read = |(index, value): (usize, &Option<_>)| value.filter(|_| step.reads(index));
    let join = Join {
        node: id,
        inputs: node.inputs.iter().enumerate().map(read).collect(),
        outputs: outputs.clone(),
        step,
        last: None,
    };
    Ok(Some((join, [&[id], &found.nodes[..]].concat())))
}

/// True if there is a single grid, or if the grids are those of the second axis, which has the channels.
fn fits(grids: &Grids, dims: &[usize]) -> bool {
    let [batch, channels, positions @ ..] = dims else {
        return false;
    };
    let count = dims.iter().product();
    grids.is_single() || grids.extents(count) == [*batch, *channels, positions.iter().product()]
}
