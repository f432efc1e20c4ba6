//! Violations of invariants, and the graph that a check looks at.

use crate::graph::{Graph, Node};
use crate::ids::NodeId;
use crate::module::Module;
use crate::text::NodePrinter;

/// An invariant that does not hold, because a pass has a bug or a file is damaged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invariant {invariant} does not hold: {text}{}", .node.iter().map(|node| format!("\n  {node}")).collect::<String>())]
pub struct Violation {
    /// The number of the invariant in the list at the top of [`crate::verifier`].
    pub invariant: u8,
    /// Where the invariant does not hold, and why.
    pub text: String,
    /// The node in the text form, if the invariant is about a node. Long texts are cut off.
    pub node: Option<String>,
}

/// All violated invariants of a module; there is at least one. If there are very many, only the first ones are shown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{}", .shown.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    if *.more > 0 { format!("\nand {} more", .more) } else { String::new() })]
pub struct Violations {
    /// The first [`MOST_SHOWN`] violations, in the order of the graphs and their nodes.
    pub shown: Vec<Violation>,
    /// The number of further violations.
    pub more: usize,
}

/// The largest number of violations that are shown.
pub const MOST_SHOWN: usize = 32;

/// The largest number of characters of a node's text in a message. The text may be long, because a form may have
/// thousands of channels.
pub(super) const NODE_WIDTH: usize = 400;

pub(super) type Verified = Result<(), Violation>;

pub(super) fn ensure(holds: bool, invariant: u8, text: impl FnOnce() -> String) -> Verified {
    let violation = || Violation {
        invariant,
        text: text(),
        node: None,
    };
    if holds { Ok(()) } else { Err(violation()) }
}

/// The violations that the checks have found so far.
#[derive(Default)]
pub(super) struct Findings<'m> {
    shown: Vec<(Violation, Option<(&'m Graph, NodeId)>)>,
    more: usize,
}

impl<'m> Findings<'m> {
    /// Adds the result of a check that does not belong to a node.
    pub(super) fn take(&mut self, outcome: Verified) {
        self.add(outcome, None);
    }

    /// Adds the result of a check of the node `id`.
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

/// The graph that a check looks at, and its module.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) module: &'a Module,
    pub(super) graph: &'a Graph,
}

impl<'a> View<'a> {
    /// Returns the names of the graph and of a node, for messages.
    pub(super) fn place(self, node: &Node) -> String {
        format!(
            "{}: {} ({})",
            self.module.name(self.graph.name),
            self.module.name(node.name),
            node.op.name()
        )
    }

    /// Checks an invariant at a node. The message begins with the names of the graph and of the node.
    pub(super) fn ensure(self, node: &Node, holds: bool, invariant: u8, text: impl FnOnce() -> String) -> Verified {
        ensure(holds, invariant, || format!("{}: {}", self.place(node), text()))
    }

    /// Returns the names of the graph and of a value, for messages.
    pub(super) fn value(self, value: &crate::Value) -> String {
        format!(
            "{}: %{}",
            self.module.name(self.graph.name),
            self.module.name(value.name)
        )
    }

    /// Returns the operand at `index`, if it is present.
    pub(super) fn operand(self, node: &Node, index: usize) -> Option<&'a crate::Value> {
        self.graph.value(node.inputs.get(index).copied().flatten()?)
    }

    /// Returns the operands that are present.
    pub(super) fn operands(self, node: &Node) -> impl Iterator<Item = &'a crate::Value> {
        node.inputs.iter().flatten().filter_map(move |&id| self.graph.value(id))
    }

    /// Returns the results of the node.
    pub(super) fn results(self, node: &Node) -> impl Iterator<Item = &'a crate::Value> {
        node.outputs.iter().filter_map(move |&id| self.graph.value(id))
    }
}
