//! **Pattern**: an average pool over one or two spatial axes, if all its windows count the same number of elements.
//! **Why**: means have a narrower range than the numbers that are averaged. A runtime that divides a sum of codes leaves the
//! means on the grid of the operand, which is coarser than necessary for the means. A depthwise convolution whose weights
//! are all 1 / (size of the window) computes the same means, and its result has a grid of its own.
//! **Preconditions**: the pool has no padding, or the elements of the padding are counted, too. No window extends past the
//! end of an axis. The number of channels is known. The model does not give the same grid for the operand and the result.
//! **Exactness**: exact in real numbers. The weight 1 / (size of the window) is rounded to f32 once.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::op::Conv;
use strait_core::{NewNode, Op, Patch, ReasonCode, Source, Term, refused};

/// The rule that replaces an average pool by a depthwise convolution.
pub const RULE: NodeRule = NodeRule {
    name: "average-pool-to-conv",
    anchors: || vec![Term::AveragePool],
    depth: || 1,
    is_fusion: false,
    look,
};

/// The largest number of weights that may replace one pool.
const MOST_WEIGHTS: u64 = 1 << 20;

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (Op::AveragePool(pool), x, y) = (&site.node.op, site.operand(0)?, site.result()?) else {
        return Err(NoMatch);
    };
    let channels = site.dims(x).and_then(|dims| dims.get(1).copied()).ok_or(NoMatch)?;
    let grid = |id| site.graph.value(id).and_then(|value| value.quant.as_ref());
    if let Some(own) = grid(y)
        && grid(x) == Some(own)
    {
        let text = "the model gives one grid for its operand and its result";
        return refused(ReasonCode::GivenGrid, text);
    }
    let counts_all = pool.count_include_pad || pool.pad.iter().all(|&p| p == 0);
    let taps = pool
        .size
        .iter()
        .fold(1u64, |n, &extent| n.saturating_mul(extent.into()));
    let weights = channels.saturating_mul(taps);
    let (spatial, groups) = (pool.size.len(), u32::try_from(channels));
    let (true, false, 1..=2, 1..=MOST_WEIGHTS, Ok(groups)) = (counts_all, pool.ceil, spatial, weights, groups) else {
        return Err(NoMatch);
    };
    let mut shape = vec![channels, 1];
    shape.extend(pool.size.iter().map(|&extent| u64::from(extent)));
    let conv = Conv {
        stride: pool.stride.clone(),
        pad: pool.pad.clone(),
        dilation: pool.dilation.clone(),
        groups,
        ..Conv::plain(spatial)
    };
    let mut patch = Patch::default();
    let mean = rounded(&mut patch, "mean", &shape, vec![1.0 / taps as f64; weights as usize])?;
    patch
        .add
        .push(NewNode::new(conv, &[Some(Source::Old(x)), mean], &[site.id]));
    site.completed(patch)
}
