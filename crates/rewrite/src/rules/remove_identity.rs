//! **Pattern**: a node whose result equals its operand:
//! - an `identity`; a cast, reshape or expand to the type and shape that the operand already has; a transpose that keeps the
//!   order of the axes;
//! - a slice that takes everything, a pad that adds nothing, a concat of a single tensor, a split into a single piece;
//! - a clip without bounds, or a clip whose bounds are the smallest and the largest number of the grid that the model gives
//!   for the operand;
//! - a maximum of a value and the smallest number of the grid that the model gives for the result;
//! - an addition or subtraction of zeros, or a multiplication or division by ones.
//!
//! **Why**: without this rule, every later step would have to look past such nodes, and an addition of zeros would round the
//! codes once more. Exporters write additions of zero because Python's `sum` begins with 0. The clips and maxima of this
//! list occur in Q/DQ files that Strait has written.
//! **Preconditions**: if the result is an output of the graph, the operand takes over the name of this output. The operand
//! then has to be the result of a node, and must not be an output itself. If the model gives a grid for the operand and one
//! for the result, the two grids have to be equal. If the model gives a grid for the result only, the operand gets this
//! grid, so no other node may read the operand.
//! **Exactness**: exact, except for the sign of a zero: −0 + 0 is 0, but the rule leaves −0.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use std::sync::Arc;
use strait_core::op::BinaryFunction;
use strait_core::rule::ANY;
use strait_core::{Op, Patch, QuantParams, ReasonCode, Source, ValueId, refused};

/// The rule that removes nodes whose result is their operand.
pub const RULE: NodeRule = NodeRule {
    name: "remove-identity",
    anchors: || ANY.to_vec(),
    depth: || 1,
    is_fusion: false,
    look,
};

/// The operand that is equal to the result, if there is one.
fn kept(site: &GraphNode<'_>) -> Option<ValueId> {
    let ty = |v| site.graph.value(v).map(|v| &v.ty);
    let (first, result) = (site.input(0)?, site.output()?);
    let is_all = |index: usize, number: f32| {
        let constant = site.input(index).and_then(|value| site.floats(value));
        constant.is_some_and(|(_, values)| values.iter().all(|&value| value == number))
    };
    let is_same = |index: usize| site.input(index).is_some_and(|value| ty(value) == ty(result));
    // Returns one of the two operands if all elements of the other operand are `number`.
    let beside = |number: f32| {
        [0, 1]
            .into_iter()
            .find(|&index| is_same(index) && is_all(1 - index, number))
    };
    let behind = |number: f32| (is_same(0) && is_all(1, number)).then_some(0);
    match &site.node.op {
        Op::Add(_) => return site.input(beside(0.0)?),
        Op::Mul(_) => return site.input(beside(1.0)?),
        Op::Sub(_) => return site.input(behind(0.0)?),
        Op::Div(_) => return site.input(behind(1.0)?),
        Op::Binary(op) if op.function == BinaryFunction::Maximum => {
            let [least, _] = ends(&site.graph.value(result)?.quant)?;
            return site.input(behind(least)?);
        }
        _ => {}
    }
    let keeps = match &site.node.op {
        Op::Identity(_) => true,
        Op::Cast(_) | Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Expand(_) => is_same(0),
        Op::Slice(slice) => is_same(0) && site.node.inputs.len() == 1 && slice.steps.iter().all(|&step| step == 1),
        Op::Transpose(t) => t.permutation.iter().enumerate().all(|(i, &axis)| i == axis as usize),
        Op::Pad(pad) => pad.amounts.iter().all(|&a| a == 0),
        Op::Concat(_) => site.node.inputs.len() == 1,
        Op::Split(_) => site.node.outputs.len() == 1,
        Op::Clip(clip) => {
            let grid = site.graph.value(first).and_then(|value| ends(&value.quant));
            let bounds = [clip.min, clip.max];
            bounds == [f32::NEG_INFINITY, f32::INFINITY] || grid == Some(bounds)
        }
        _ => false,
    };
    keeps.then_some(first)
}

/// The smallest and the largest real number of a grid that the model gives for real numbers.
fn ends(grid: &Option<Arc<QuantParams>>) -> Option<[f32; 2]> {
    let grid = grid.as_ref()?;
    grid.ends_of(grid.codes?)
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (x, y) = (kept(site).ok_or(NoMatch)?, site.result()?);
    let grid = |id| site.graph.value(id).and_then(|value| value.quant.as_ref());
    let text = match (grid(x), grid(y)) {
        (Some(from), Some(to)) if from != to => {
            Some("the model gives another grid for its result than for its operand")
        }
        (None, Some(_)) if !site.used_once(x) => {
            Some("the model gives a grid for its result, and others read its operand")
        }
        _ => None,
    };
    if let Some(text) = text {
        return refused(ReasonCode::GivenGrid, text);
    }
    if site.graph.is_output(y) && (site.graph.is_output(x) || site.graph.producer(x).is_none()) {
        let text = "its result is an output of the graph, whose name the operand cannot take over";
        return refused(ReasonCode::OutputName, text);
    }
    Ok(Patch {
        replace: vec![(y, Source::Old(x))],
        remove: vec![site.id],
        ..Patch::default()
    })
}
