//! The verifier: what is true in every graph, and what each stage adds. It visits each node, value and operand once.
//!
//! **Every stage**
//! 1. Edges: operands and results exist; a result's `def` points back at its node and position; the use list of a value
//!    has exactly the operands that read it, each once, linked both ways.
//! 2. There is no cycle, neither among nodes nor among graphs that call each other.
//! 3. Types: element types and shapes are what inference says (with the fused element type) and within the limits;
//!    constants have their tensor's type; the operands of a call match the called graph's inputs.
//! 4. Graph inputs and outputs exist and know their positions.
//! 5. Forms are legal ([`strait_requantize::Requantization::check`]). They have as many channels as the channel axis
//!    ([`crate::Op::channel_axis`]), or a constant operand picks channels that exist. A clamp is in order and inside
//!    its type. A fused form only requantizes an i32 or i64 accumulator.
//! 6. Grids are legal: scales are finite and positive, zero points are inside the type, and there are as many channels
//!    as the axis has.
//! 7. Numbers that ops carry: zero points (`pad_value`, `weight_zero`, `a_zero`, `b_zero`) are codes of the operand's
//!    type, and 0 for floats; no float attribute is NaN.
//! 16. Names are unique: no two values of a graph have the same name, and no two nodes. Observations, fusions and
//!     proofs are stored by the name of a value, and reports name nodes. A value may have the name of a node.
//!
//! **Every stage but export**
//!
//! 8. There are no `foreign` nodes.
//!
//! **Float and annotated**
//!
//! 9. Nothing is requantized yet: no fused forms, no `requantize`, `clamp`, `shift_left`, `sum_pool` or `lookup`.
//!
//! **Annotated**
//!
//! 10. Each float operand of a node on the accelerator has a quantization config. There are two exceptions: a
//!     weight-only `conv` or `gemm`, which computes on real numbers and where only the constant weights have one; and
//!     the sum of a `conv` or `gemm` that only an `add` reads, which adds to it without requantizing it first.
//! 17. Only configs give grids to real numbers: a float value has no grid of its own, except one that the model gives
//!     for it.
//! 18. Configs belong to operands, results, inputs and outputs that exist, with one for each. No other stage has
//!     configs.
//! 19. All configs that read the same grid have the same scheme.
//! 20. Grids are legal for their scheme, including those that a float config would restore: scales are finite and
//!     positive, and powers of two where the policy says so; zero points are inside the type, and 0 if it is symmetric;
//!     there is one number, or as many as the policy's axis or blocks have in the shape.
//! 21. The codes of a parameter, baked or given, belong to a constant. They have its shape and the type of its scheme,
//!     and are in the range of the scheme. (That they have a grid, which cannot change under them, no transition can
//!     break.)
//! 22. The config whose grid another one reads exists, and so do the configs that a grid is derived from.
//! 23. Each float input and output of the graph has a config. An output's config has the grid on which the value leaves
//!     its producer, or no grid: its state is then `float`.
//!
//! **Integer**
//!
//! 11. The accelerator computes in integers: no node on it has a float operand or result, except what `quantize` reads
//!     and `dequantize` makes, and except a `conv` or `gemm` of real numbers whose weights are dequantized from
//!     constant codes.
//! 12. The host computes in floats: nothing on it except `quantize` and `dequantize` touches codes.
//! 13. What `dequantize` reads, what `quantize` makes, and what leaves the graph as codes has a grid. So does every i64
//!     accumulator, because an i64 without a grid is a shape or an index.
//! 14. Functions of real numbers ([`Term::is_real_function`](crate::Term::is_real_function)) are not applied to codes.
//! 15. Padding stands for real zero: the `pad_value` of a `conv` or `sum_pool` that pads is the zero point of its
//!     operand. The `weight_zero` of a `conv` or `gemm` has the zero points of the weights' grid, if there is one.

mod configs;
mod edges;
mod quantization;
mod stages;
mod types;

#[cfg(test)]
mod config_tests;
#[cfg(test)]
mod tests;

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
const NODE_WIDTH: usize = 400;

type Verified = Result<(), Violation>;

fn ensure(holds: bool, invariant: u8, text: impl FnOnce() -> String) -> Verified {
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
struct Findings<'m> {
    shown: Vec<(Violation, Option<(&'m Graph, NodeId)>)>,
    more: usize,
}

impl<'m> Findings<'m> {
    /// Adds the result of a check.
    fn take(&mut self, outcome: Verified) {
        self.add(outcome, None);
    }

    /// Adds the result of a check of a node.
    fn of_node(&mut self, view: View<'m>, id: NodeId, outcome: Verified) {
        self.add(outcome, Some((view.graph, id)));
    }

    fn add(&mut self, outcome: Verified, node: Option<(&'m Graph, NodeId)>) {
        match outcome {
            Err(violation) if self.shown.len() < MOST_SHOWN => self.shown.push((violation, node)),
            Err(_) => self.more += 1,
            Ok(()) => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    fn end(self, module: &Module) -> Result<(), Violations> {
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
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(NODE_WIDTH) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Checks every graph of a module against the invariants of its stage.
///
/// # Errors
/// All invariants that are broken. If edges are broken, invariants that depend on them are not checked.
pub fn verify(module: &Module) -> Result<(), Violations> {
    let mut findings = Findings::default();
    findings.take(types::calls(module));
    let views = module.graphs.iter().map(|graph| View { module, graph });
    for view in views.clone() {
        edges::verify(view, &mut findings);
    }
    if findings.is_empty() {
        for view in views {
            types::verify(view, &mut findings);
            quantization::verify(view, &mut findings);
            stages::verify(view, &mut findings);
            configs::verify(view, &mut findings);
        }
    }
    findings.end(module)
}

/// One graph of a module.
#[derive(Clone, Copy)]
struct View<'a> {
    module: &'a Module,
    graph: &'a Graph,
}

impl<'a> View<'a> {
    /// Names graph and node, for the text of a violation.
    fn place(self, node: &Node) -> String {
        format!(
            "{}: {} ({})",
            self.module.name(self.graph.name),
            self.module.name(node.name),
            node.op.name()
        )
    }

    /// Names graph and value, for the text of a violation.
    fn value(self, value: &crate::Value) -> String {
        format!(
            "{}: %{}",
            self.module.name(self.graph.name),
            self.module.name(value.name)
        )
    }

    /// An operand, if it is present.
    fn operand(self, node: &Node, index: usize) -> Option<&'a crate::Value> {
        self.graph.value(node.inputs.get(index).copied().flatten()?)
    }

    /// The operands that are present.
    fn operands(self, node: &Node) -> impl Iterator<Item = &'a crate::Value> {
        node.inputs.iter().flatten().filter_map(move |&id| self.graph.value(id))
    }

    /// The results.
    fn results(self, node: &Node) -> impl Iterator<Item = &'a crate::Value> {
        node.outputs.iter().filter_map(move |&id| self.graph.value(id))
    }
}
