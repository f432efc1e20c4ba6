//! Invariants that do not hold, and the graph that a check looks at.

use crate::graph::{Graph, Node};
use crate::ids::NodeId;
use crate::module::Module;
use crate::text::NodePrinter;

/// A broken invariant. It is a bug in a pass, or a damaged file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invariant {invariant} does not hold: {text}{}", .node.iter().map(|node| format!("\n  {node}")).collect::<String>())]
pub struct Violation {
    /// The number of the invariant in the list of this module's documentation.
    pub invariant: u8,
    /// Where it is broken, and how.
    pub text: String,
    /// The node in the text form, if it is about a node; cut off if it is long.
    pub node: Option<String>,
}

/// The broken invariants of a module, at least one. If there are very many, only the first ones are shown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{}", .shown.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    if *.more > 0 { format!("\nand {} more", .more) } else { String::new() })]
pub struct Violations {
    /// The first [`MOST_SHOWN`] violations, in the order of the graphs and their nodes.
    pub shown: Vec<Violation>,
    /// How many more there are.
    pub more: usize,
}

/// How many violations are shown.
pub const MOST_SHOWN: usize = 32;

/// How many characters of a node are shown, because a form may have thousands of channels.
pub(super) const NODE_WIDTH: usize = 400;

pub(super) type Verified = Result<(), Violation>;

pub(super) fn ensure(holds: bool, invariant: u8, text: impl FnOnce() -> String) -> Verified {
    if holds {
        Ok(())
    } else {
        Err(Violation {
            invariant,
            text: text(),
            node: None,
        })
    }
}

/// The violations found so far.
#[derive(Default)]
pub(super) struct Findings<'m> {
    shown: Vec<(Violation, Option<(&'m Graph, NodeId)>)>,
    more: usize,
}

impl<'m> Findings<'m> {
    /// Adds the result of a check.
    pub(super) fn take(&mut self, outcome: Verified) {
        self.add(outcome, None);
    }

    /// Adds the result of a check of a node.
    pub(super) fn of_node(&mut self, view: View<'m>, id: NodeId, outcome: Verified) {
        self.add(outcome, Some((view.graph, id)));
    }

    fn add(&mut self, outcome: Verified, node: Option<(&'m Graph, NodeId)>) {
        match outcome {
            Err(violation) if self.shown.len() < MOST_SHOWN => self.shown.push((violation, node)),
            Err(_) => self.more += 1,
            Ok(()) => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    pub(super) fn end(self, module: &Module) -> Result<(), Violations> {
        if self.is_empty() {
            return Ok(());
        }
        let printer = NodePrinter::new(module);
        let print = |(violation, node): (Violation, Option<(&Graph, NodeId)>)| Violation {
            node: node.and_then(|(graph, id)| printer.node(graph, id)).map(cut),
            ..violation
        };
        Err(Violations {
            shown: self.shown.into_iter().map(print).collect(),
            more: self.more,
        })
    }
}

/// Cuts a text to at most [`NODE_WIDTH`] characters.
pub(super) fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(NODE_WIDTH) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// One graph of a module.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) module: &'a Module,
    pub(super) graph: &'a Graph,
}

impl<'a> View<'a> {
    /// Names graph and node, for the text of a violation.
    pub(super) fn place(self, node: &Node) -> String {
        format!(
            "{}: {} ({})",
            self.module.name(self.graph.name),
            self.module.name(node.name),
            node.op.name()
        )
    }

    /// Names graph and value, for the text of a violation.
    pub(super) fn value(self, value: &crate::Value) -> String {
        format!(
            "{}: %{}",
            self.module.name(self.graph.name),
            self.module.name(value.name)
        )
    }

    /// An operand, if it is present.
    pub(super) fn operand(self, node: &Node, index: usize) -> Option<&'a crate::Value> {
        self.graph.value(node.inputs.get(index).copied().flatten()?)
    }

    /// The operands that are present.
    pub(super) fn operands(self, node: &Node) -> impl Iterator<Item = &'a crate::Value> {
        node.inputs.iter().flatten().filter_map(move |&id| self.graph.value(id))
    }

    /// The results of the node.
    pub(super) fn results(self, node: &Node) -> impl Iterator<Item = &'a crate::Value> {
        node.outputs.iter().filter_map(move |&id| self.graph.value(id))
    }
}
