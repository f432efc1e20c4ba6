//! **Pattern**: a node whose result has no elements (one of its extents is 0), a node that reads a graph input that has no
//! elements, or a split in which some pieces have no elements.
//! **Why**: a tensor without elements needs no computation and no grid, and calibration cannot measure a range for it. This
//! rule replaces the tensor by an empty constant. The constant does not affect how the nodes around it are quantized, and
//! nodes that only read constants are then folded.
//! **Preconditions**: all extents of the tensor are known. If the tensor is an output of the graph, the rule puts an
//! `identity` between the empty constant and the output, because an output has to be the result of a node.
//! **Exactness**: exact, because all tensors without elements that have the same shape are equal.

use crate::matching::{GraphNode, push};
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::{Identity, Split};
use strait_core::rule::ANY;
use strait_core::{Kind, NewNode, Op, Patch, Source, TensorData, ValueId};

/// The rule that replaces values without elements by constants.
pub const RULE: NodeRule = NodeRule {
    name: "without-elements",
    anchors: || ANY.to_vec(),
    depth: || 2,
    is_fusion: false,
    look,
};

/// Makes an empty tensor that can replace a value without elements. Returns `None` if the value has elements or already
/// is a constant.
fn nothing(site: &GraphNode<'_>, value: ValueId) -> Option<TensorData> {
    let ty = &site.graph.value(value)?.ty;
    let dims = ty
        .dims()
        .filter(|dims| dims.contains(&0) && site.graph.data_of(value).is_none())?;
    TensorData::new(ty.elem, &dims, Vec::new().into()).ok()
}

/// Adds to the patch a split that makes only the pieces with elements. In the patch, readers of empty pieces already
/// read constants.
fn pieces(site: &GraphNode<'_>, split: &Split, mut patch: Patch) -> Patch {
    let pieces = split.sizes.iter().copied().zip(site.node.outputs.iter().copied());
    let (left, empty): (Vec<_>, Vec<_>) = pieces.partition(|&(size, y)| size != 0 || site.graph.is_output(y));
    if empty.is_empty() || left.is_empty() {
        return patch;
    }
    let op = Split {
        sizes: left.iter().map(|&(size, _)| size).collect(),
        ..split.clone()
    };
    let operands: Vec<Option<Source>> = site.node.inputs.iter().map(|x| x.map(Source::Old)).collect();
    patch.add.push(NewNode::new(op, &operands, &[site.id]));
    let results = (0..).zip(left);
    patch
        .replace
        .extend(results.map(|(index, (_, y))| (y, Source::New(0, index))));
    patch.remove.push(site.id);
    patch
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let mut patch = Patch::default();
    let constant = |patch: &mut Patch, tensor: TensorData| {
        patch.data.push(("nothing".into(), tensor));
        Source::Data(patch.data.len() as u16 - 1)
    };
    for &y in &site.node.outputs {
        let is_output = site.graph.is_output(y);
        if is_output || site.graph.uses(y).next().is_some() {
            let Some(tensor) = nothing(site, y) else { continue };
            let is_done = matches!(site.node.op, Op::Identity(_))
                && site.input(0).is_some_and(|x| site.graph.data_of(x).is_some());
            if is_output && (is_done || site.node.outputs.len() > 1) {
                continue;
            }
            let mut source = constant(&mut patch, tensor);
            if is_output {
                patch.add.push(NewNode::new(Identity {}, &[Some(source)], &[site.id]));
                source = Source::New(0, 0);
                patch.remove.push(site.id);
            }
            patch.replace.push((y, source));
        }
    }
    let is_input = |value: ValueId| site.graph.producer(value).is_none();
    let mut operands = site.node.inputs.iter().flatten();
    let reads = operands.any(|&x| is_input(x) && nothing(site, x).is_some());
    if let Op::Split(split) = &site.node.op {
        patch = pieces(site, split, patch);
    } else if patch.replace.is_empty() && reads && site.node.op.term().kind() != Kind::Elsewhere {
        let mut operands = Vec::new();
        for operand in &site.node.inputs {
            let empty = operand.filter(|&x| is_input(x)).and_then(|x| nothing(site, x));
            operands.push(match empty {
                Some(tensor) => Some(constant(&mut patch, tensor)),
                None => operand.map(Source::Old),
            });
        }
        push(&mut patch, NewNode::new(site.node.op.clone(), &operands, &[site.id]));
        let results = (0..).zip(&site.node.outputs);
        let replaced = results.map(|(index, &y)| (y, Source::New(0, index)));
        patch.replace.extend(replaced);
        patch.remove.push(site.id);
    }
    match patch.replace.is_empty() {
        true => Err(NoMatch),
        false => Ok(patch),
    }
}
