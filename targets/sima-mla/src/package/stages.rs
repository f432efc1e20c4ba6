//! Divides the nodes into steps: everything that the accelerator computes between two steps of other processors is one
//! subgraph.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::graph::{Graph, Node, NodeId, Placement, Term, ValueId};

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
        match (node.op.term(), &node.place) {
            (Term::Quantize | Term::Dequantize, _) => Processor::Ev74,
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

/// A step of the compiled program, which runs on one processor.
pub(super) enum Stage {
    /// A node that does not run on the accelerator.
    Single(NodeId),
    /// Nodes that run on the accelerator.
    Subgraph(Subgraph),
}

/// Nodes that run on the accelerator in one step.
pub(super) struct Subgraph {
    /// The nodes, each after the producers of its operands.
    pub(super) nodes: Vec<NodeId>,
    /// Values, except constants, that the nodes read and that are computed outside the subgraph. Each is listed once,
    /// in the order of the nodes.
    pub(super) inputs: Vec<ValueId>,
    /// Values that the nodes compute and that are read outside the subgraph or are outputs of the graph, in the order
    /// of the nodes.
    pub(super) outputs: Vec<ValueId>,
}

/// Divides all nodes into steps, and returns the steps in an order in which they can run.
///
/// The level of a node is the largest number of changes between the accelerator and other processors on any path to it.
/// The level is odd for nodes on the accelerator and even for others. A node only reads from lower levels, or from its
/// own level on the same processor. So the levels can run one after the other, and all nodes of one level of the
/// accelerator can run in one step.
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
        // The smallest possible level that is odd for the accelerator and even for other processors.
        let level = least + usize::from((least % 2 == 1) != ours);
        level_of[id.index()] = level;
        if levels.len() <= level {
            levels.resize(level + 1, Vec::new());
        }
        levels[level].push(id);
    }
    // For each value, the last level that has it as an input, so that each input is listed only once per level.
    let mut seen = vec![None; graph.value_bound()];
    let stages = levels
        .into_iter()
        .enumerate()
        .flat_map(|(level, nodes)| match level % 2 {
            0 => nodes.into_iter().map(Stage::Single).collect(),
            _ if nodes.is_empty() => Vec::new(),
            _ => vec![Stage::Subgraph(subgraph(graph, level, nodes, &level_of, &mut seen))],
        });
    Ok(stages.collect())
}

/// The subgraph of one level. The time to find it is proportional to the number of operands of its nodes and the number
/// of readers of its results.
fn subgraph(
    graph: &Graph,
    level: usize,
    nodes: Vec<NodeId>,
    level_of: &[usize],
    seen: &mut [Option<usize>],
) -> Subgraph {
    let inside = |id: NodeId| level_of[id.index()] == level;
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for node in nodes.iter().filter_map(|&id| graph.node(id)) {
        for &value in node.inputs.iter().flatten() {
            let made_inside = graph.producer(value).is_some_and(|(id, _)| inside(id));
            let constant = graph.data_of(value).is_some();
            if !made_inside && !constant && seen[value.index()].replace(level) != Some(level) {
                inputs.push(value);
            }
        }
        let read_outside = |value: ValueId| graph.uses(value).any(|reader| !inside(reader.node));
        let leaves = |value: &&ValueId| read_outside(**value) || graph.is_output(**value);
        outputs.extend(node.outputs.iter().filter(leaves).copied());
    }
    Subgraph { nodes, inputs, outputs }
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
                Stage::Subgraph(subgraph) => {
                    let nodes: Vec<String> = subgraph.nodes.iter().map(name).collect();
                    format!("[{}]", nodes.join(" "))
                }
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
        assert_eq!(
            (names(&first.inputs), names(&first.outputs)),
            (vec!["q".to_owned()], vec!["a".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn many_visits_to_the_host_cost_little_each() {
        let visits = 20_000;
        let mut text = "strait 1 integer\ngraph @main(%q0: i8[1,4] scale=0.5 zero=0) {\n".to_owned();
        for visit in 0..visits {
            text += &format!(
                "  %a{visit}: i8[1,4] scale=0.5 zero=0 = clamp(%q{visit}) {{min=-3, max=3}}\n\
                 \x20 %f{visit}: f32[1,4] = dequantize(%a{visit})\n\
                 \x20 %q{}: i8[1,4] scale=0.5 zero=0 = quantize(%f{visit}) {{to=i8, rounding=half_even, reciprocal=0}}\n",
                visit + 1
            );
        }
        let module = parse(&format!("{text}  return %q{visits}\n}}\n")).unwrap();
        let start = std::time::Instant::now();
        let stages = stages(module.main()).unwrap();
        assert_eq!(stages.len(), 3 * visits);
        // Searching the whole graph for each visit to the host would take more than a billion steps.
        assert!(start.elapsed().as_secs() < 5);
    }
}
