//! **Pattern**: a concat with operands that are quantized and dequantized twice. The second time, the grid is the one on
//! which all readers of the concat quantize its result.
//! **Why**: the rule removes the second quantization before the concat. Runtimes have a kernel that joins codes of several
//! grids, whereas a second quantization before the concat is a separate pass over the data.
//! **Preconditions**: the two grids of such an operand have the same type of codes, and the result of the concat is not an
//! output.
//! **Exactness**: exact. With and without the rule, each number is rounded to the second grid. Rounding to this grid once
//! more, after the concat, does not change the number.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::rule::EVERYWHERE;
use strait_core::{NewNode, NodeId, Op, Patch, Source, Term, ValueId};

/// The rule that removes the rounding before a concat if the concat's readers round to the same grid.
pub const RULE: NodeRule = NodeRule {
    name: "rounding-before-concat",
    anchors: || vec![Term::Concat],
    // The rule depends on the grids of the node's readers, so a change at any distance matters.
    depth: || EVERYWHERE,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let y = site.output().filter(|&y| !site.graph.is_output(y)).ok_or(NoMatch)?;
    let twice: Vec<(ValueId, [GraphNode<'_>; 2])> = (site.node.inputs.iter().flatten())
        .filter_map(|&value| Some((value, pair(site, value, y)?)))
        .collect();
    if twice.is_empty() {
        return Err(NoMatch);
    }
    let real = |value: ValueId| {
        let found = twice.iter().find(|(of, _)| *of == value);
        Source::Old(
            found
                .map_or(Some(value), |(_, [quantizes, _])| quantizes.input(0))
                .unwrap_or(value),
        )
    };
    let operands: Vec<Option<Source>> = site.node.inputs.iter().map(|value| value.map(real)).collect();
    let concat = NewNode::new(site.node.op.clone(), &operands, &[site.id]);
    let unread = twice.iter().filter(|(value, [quantizes, _])| {
        site.used_once(*value) && quantizes.output().is_some_and(|codes| site.used_once(codes))
    });
    let pairs = unread.flat_map(|(_, pair)| pair.iter().rev().map(|node| node.id));
    site.completed(Patch {
        add: vec![concat],
        remove: pairs.collect(),
        ..Patch::default()
    })
}

/// The second quantize of an operand and its dequantize, if every reader of the result quantizes in the same way.
fn pair<'a>(site: &GraphNode<'a>, value: ValueId, result: ValueId) -> Option<[GraphNode<'a>; 2]> {
    let value_of = |id| site.graph.value(id);
    let undoes = site.producer(value, Term::Dequantize)?;
    let again = undoes.input(0)?;
    let quantizes = site.producer(again, Term::Quantize)?;
    let codes = site.producer(quantizes.input(0)?, Term::Dequantize)?.input(0)?;
    let is_alike = |reader: NodeId| {
        let reader = site.graph.node(reader)?;
        let found = value_of(*reader.outputs.first()?)?;
        Some(
            matches!(reader.op, Op::Quantize(_))
                && reader.op == quantizes.node.op
                && found.quant == value_of(again)?.quant,
        )
    };
    let is_one_type = value_of(codes)?.ty.elem == value_of(again)?.ty.elem;
    let mut readers = site.graph.uses(result).peekable();
    let all = readers.peek().is_some() && readers.all(|reader| is_alike(reader.node) == Some(true));
    (is_one_type && all).then_some([quantizes, undoes])
}
