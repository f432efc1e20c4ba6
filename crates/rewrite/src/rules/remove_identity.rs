//! **Pattern**: a node whose result equals its operand:
//! - identity; a cast, reshape or expand that changes nothing; a transpose that moves nothing;
//! - a slice of everything, a pad by nothing, a concat of one tensor, a split into one;
//! - a clip without bounds, or with the bounds of the grid that the model gives for its operand;
//! - a maximum with the lowest number of the grid that the model gives for the result;
//! - a sum with zeros, or a product with ones.
//!
//! **Why**: every later step would have to look through such a node, and adding zeros to codes rounds them once more.
//! Exporters write such sums because Python's `sum` begins with 0. The clips and maxima occur in Q/DQ files of Strait.
//! **Preconditions**: if the result is an output of the graph, its name has to survive, so the operand has to be the result
//! of a node and not an output itself. If the model gives grids for both, they have to be equal. If it gives one for the
//! result only, nothing else may read the operand, which then gets this grid.
//! **Exactness**: exact, except for the sign of a zero to which zero is added.

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
    // One of the two operands, if all elements of the other operand are `number`.
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
