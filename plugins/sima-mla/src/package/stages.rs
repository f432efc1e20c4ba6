//! Which nodes run together: what the accelerator computes between two visits to another processor is one subgraph.

use strait_core::{Graph, Node, NodeId, Op, Placement, ValueId};
use strait_target::TargetError;

/// The processors of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processor {
    /// The accelerator.
    Mla,
    /// The vision processor, which quantizes and dequantizes.
    Ev74,
    /// The host.
    A65,
}

impl Processor {
    pub(super) fn of(node: &Node) -> Processor {
        match (&node.op, &node.place) {
            (Op::Quantize(_) | Op::Dequantize(_), _) => Processor::Ev74,
            (_, Placement::Accelerator) => Processor::Mla,
            (_, Placement::Host(_)) => Processor::A65,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Processor::Mla => "MLA",
            Processor::Ev74 => "EV74",
            Processor::A65 => "A65",
        }
    }
}

/// Something that is run at once.
pub(super) enum Stage {
    /// A node that is not the accelerator's.
    Single(NodeId),
    /// Nodes of the accelerator, each behind the producers of its operands.
    Subgraph(Vec<NodeId>),
}

/// All nodes, in an order in which they can be run.
///
/// A node's level is how often the way to it changes between the accelerator and the others, the most over all ways: it
/// is even for the others and odd for the accelerator. What it reads has a lower level, or the same and runs in the
/// same place. So the levels can be run one after the other, those of the accelerator each as one.
pub(super) fn stages(graph: &Graph) -> Result<Vec<Stage>, TargetError> {
    let order = graph
        .topological_order()
        .map_err(|_| TargetError::Unsupported("a graph with a cycle".into()))?;
    let mut level_of = vec![0usize; graph.node_bound()];
    let mut levels: Vec<Vec<NodeId>> = Vec::new();
    for id in order {
        let Some(node) = graph.node(id) else { continue };
        let ours = Processor::of(node) == Processor::Mla;
        let least = node.inputs.iter().flatten().filter_map(|&value| graph.producer(value));
        let least = least.map(|(producer, _)| level_of[producer.index()]).max().unwrap_or(0);
        // The next level of the right kind.
        let level = least + usize::from((least % 2 == 1) != ours);
        level_of[id.index()] = level;
        if levels.len() <= level {
            levels.resize(level + 1, Vec::new());
        }
        levels[level].push(id);
    }
    let stages = levels
        .into_iter()
        .enumerate()
        .flat_map(|(level, nodes)| match level % 2 {
            0 => nodes.into_iter().map(Stage::Single).collect(),
            _ if nodes.is_empty() => Vec::new(),
            _ => vec![Stage::Subgraph(nodes)],
        });
    Ok(stages.collect())
}

/// Values that a subgraph reads from outside, constants left out, and values of the subgraph that are read outside or
/// leave the graph; each value once, in the order of the nodes.
pub(super) fn border(graph: &Graph, nodes: &[NodeId]) -> (Vec<ValueId>, Vec<ValueId>) {
    let mut inside = vec![false; graph.node_bound()];
    for id in nodes {
        inside[id.index()] = true;
    }
    let mut read_outside = vec![false; graph.value_bound()];
    for (id, node) in graph.nodes() {
        for value in node.inputs.iter().flatten() {
            read_outside[value.index()] |= !inside[id.index()];
        }
    }
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let mut seen = vec![false; graph.value_bound()];
    for node in nodes.iter().filter_map(|&id| graph.node(id)) {
        for &value in node.inputs.iter().flatten() {
            let made_inside = graph.producer(value).is_some_and(|(id, _)| inside[id.index()]);
            let constant = graph.data_of(value).is_some();
            if !made_inside && !constant && !std::mem::replace(&mut seen[value.index()], true) {
                inputs.push(value);
            }
        }
        let leaves = |value: &&ValueId| read_outside[value.index()] || graph.is_output(**value);
        outputs.extend(node.outputs.iter().filter(leaves).copied());
    }
    (inputs, outputs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use strait_core::text::parse;

    #[test]
    fn a_visit_to_the_host_divides_the_accelerators_nodes() {
        let text = r#"strait 1 integer
graph @main(%x: f32[1,4]) {
  %q: i8[1,4] scale=0.5 zero=0 = quantize(%x) {to=i8, rounding=half_even, reciprocal=0}
  %a: i8[1,4] scale=0.5 zero=0 = clamp(%q) {min=-3, max=3}
  %f: f32[1,4] = dequantize(%a)
  %s: f32[1,4] = softmax(%f) {axis=1} host=["host","because"]
  %r: i8[1,4] scale=0.5 zero=0 = quantize(%s) {to=i8, rounding=half_even, reciprocal=0}
  %b: i8[1,4] scale=0.5 zero=0 = clamp(%r) {min=0, max=3}
  %c: i8[1,4] scale=0.5 zero=0 = clamp(%q) {min=0, max=3}
  %y: f32[1,4] = dequantize(%b)
  return %y, %c
}"#;
        let module = parse(text).unwrap();
        let graph = module.main();
        let name = |id: &NodeId| module.name(graph.node(*id).unwrap().name).to_owned();
        let shown: Vec<String> = stages(graph)
            .unwrap()
            .iter()
            .map(|stage| match stage {
                Stage::Single(id) => name(id),
                Stage::Subgraph(nodes) => format!("[{}]", nodes.iter().map(name).collect::<Vec<_>>().join(" ")),
            })
            .collect();
        assert_eq!(shown, ["q", "[a c]", "f", "s", "r", "[b]", "y"]);
        let Stage::Subgraph(first) = &stages(graph).unwrap()[1] else {
            unreachable!()
        };
        let names = |values: &[ValueId]| {
            let name = |&value| module.name(graph.value(value).unwrap().name).to_owned();
            values.iter().map(name).collect::<Vec<_>>()
        };
        let (inputs, outputs) = border(graph, first);
        assert_eq!(
            (names(&inputs), names(&outputs)),
            (vec!["q".to_owned()], vec!["a".to_owned(), "c".to_owned()])
        );
    }
}
