//! **Pattern**: a concat with operands that are quantized and dequantized twice. The second time, the grid is the one on
//! which all readers of the concat quantize its result.
//! **Why**: the rule removes the second quantization before the concat. Runtimes have a kernel that joins codes of several
//! grids, whereas a second quantization before the concat is a separate pass over the data.
//! **Preconditions**: the two grids of such an operand have the same type of codes, and the result of the concat is not an
//! output.
//! **Exactness**: exact. With and without the rule, each number is rounded to the second grid. Rounding to this grid once
//! more, after the concat, does not change the number.

use crate::matching::GraphNode;
use strait_core::rule::EVERYWHERE;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// The rule that removes the rounding in front of a concat if the concat's readers round to the same grid.
pub struct RoundingBeforeConcat;

impl Rule for RoundingBeforeConcat {
    fn name(&self) -> &'static str {
        "rounding-before-concat"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Concat]
    }

    /// The rule depends on the grids of the node's readers, so a change at any distance matters.
    fn depth(&self) -> usize {
        EVERYWHERE
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output().filter(|&y| !site.graph.is_output(y)) else {
            return Ok(Outcome::NoMatch);
        };
        let twice: Vec<(ValueId, [GraphNode<'_>; 2])> = (site.node.inputs.iter().flatten())
            .filter_map(|&value| Some((value, pair(&site, value, y)?)))
            .collect();
        if twice.is_empty() {
            return Ok(Outcome::NoMatch);
        }
        let real = |value: ValueId| {
            let found = twice.iter().find(|(of, _)| *of == value);
            found
                .and_then(|(_, [quantizes, _])| quantizes.input(0))
                .unwrap_or(value)
        };
        let mut concat = NewNode::new(site.node.op.clone(), &[], &[at]);
        concat.inputs = (site.node.inputs.iter())
            .map(|value| value.map(|value| Source::Old(real(value))))
            .collect();
        let unread = twice.iter().filter(|(value, [quantizes, _])| {
            site.used_once(*value) && quantizes.output().is_some_and(|codes| site.used_once(codes))
        });
        let pairs = unread.flat_map(|(_, pair)| pair.iter().rev().map(|node| node.id));
        Ok(Outcome::Apply(Patch {
            add: vec![concat],
            replace: vec![(y, Source::New(0, 0))],
            remove: std::iter::once(at).chain(pairs).collect(),
            ..Patch::default()
        }))
    }
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
