//! **Pattern**: a relu or clip of a value that is quantized and dequantized. All readers of the relu or clip quantize its
//! result, on the same grid as the first quantization.
//! **Why**: the rule removes the quantization before the relu or clip. Runtimes fuse a clamp into the layer before it if the
//! quantization comes only after the clamp. They run a clamp as an op of its own if there is a quantization on either side.
//! **Preconditions**: nothing else reads the codes of the first quantization or the value that is dequantized from them, and
//! the result of the relu or clip is not an output.
//! **Exactness**: exact. Rounding to a grid is monotone, and does not change numbers that are on the grid. So a number gets
//! the same code whether it is clamped before or after rounding.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::rule::EVERYWHERE;
use strait_core::{NewNode, NodeId, Op, Patch, Source, Term};

/// The rule that removes the rounding before a clamp if the clamp's readers round to the same grid.
pub const RULE: NodeRule = NodeRule {
    name: "rounding-before-clamp",
    anchors: || vec![Term::Relu, Term::Clip],
    // The rule depends on the grids of the node's readers, so a change at any distance matters.
    depth: || EVERYWHERE,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (read, real) = pair(site).ok_or(NoMatch)?;
    let x = Source::Old(read.operand(0)?);
    site.completed(Patch {
        add: vec![NewNode::new(site.node.op.clone(), &[Some(x)], &[site.id])],
        remove: vec![real.id, read.id],
        ..Patch::default()
    })
}

/// The quantize and dequantize before the clamp, if all readers of the clamp quantize in the same way.
fn pair<'a>(site: &GraphNode<'a>) -> Option<(GraphNode<'a>, GraphNode<'a>)> {
    let grid = |value| site.graph.value(value).map(|value| &value.quant);
    let (x, y) = (site.input(0)?, site.output()?);
    let real = site.producer(x, Term::Dequantize).filter(|_| site.used_once(x))?;
    let codes = real.input(0)?;
    let read = site.producer(codes, Term::Quantize).filter(|_| site.used_once(codes))?;
    let is_alike = |reader: NodeId| {
        let reader = site.graph.node(reader)?;
        let result = *reader.outputs.first()?;
        Some(matches!(reader.op, Op::Quantize(_)) && reader.op == read.node.op && grid(result) == grid(codes))
    };
    let mut readers = site.graph.uses(y).peekable();
    let is_read = readers.peek().is_some() && !site.graph.is_output(y);
    (is_read && readers.all(|reader| is_alike(reader.node) == Some(true))).then_some((read, real))
}
