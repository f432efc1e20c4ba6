//! The verifier: what holds in every graph, and what each stage adds. It costs one visit of each node, value and
//! operand.
//!
//! **Every stage**
//! 1. Edges: operands and results exist; a result's `def` points back at its node and position; the use list of a value
//!    holds exactly the operands that name it, each once, linked both ways.
//! 2. There is no cycle, neither among nodes nor among graphs that call each other.
//! 3. Types: element types and shapes are what inference says (with the fused element type) and within the limits;
//!    constants have their tensor's type; the operands of a call are the called graph's inputs.
//! 4. Graph inputs and outputs exist and know their positions.
//! 5. Forms are legal ([`strait_requantize::Requantization::check`]) and have as many channels as the channel axis
//!    ([`crate::Op::channel_axis`]), or an operand picks them: a constant of no others; a clamp is in order and inside its
//!    type; only an accumulator of i32 or i64 is requantized by a fused form.
//! 6. Grids are legal: scales finite and positive, zero points inside the type, as many channels as their axis.
//! 7. The numbers that ops carry: zero points (`pad_value`, `weight_zero`, `a_zero`, `b_zero`) are codes of the operand's type, 0 for
//!    floats; no float attribute is NaN.
//! 16. Names are data: no two values of a graph have the same, and no two nodes. Observation, fusion and proof of a value
//!     are kept by its name, and so is what a report says of a node. A value may have the name of a node.
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
//! 10. Each float operand of a node on the accelerator has a quantization config; or, of a `conv` or `gemm`, its constant
//!     weights have one and nothing else (weight-only), and it computes on real numbers; or it is the sum of a `conv` or `gemm` that an `add` alone
//!     reads, and adds to as it is.
//! 17. The configs alone tell grids of real numbers: no value of floats has one, but for that which the model gives for it.
//! 18. Configs are of operands and results, inputs and outputs that are there, one for each. No other stage has any.
//! 19. All configs that read one grid have one scheme.
//! 20. Grids are legal for their scheme, also those that a float config would be restored to: scales finite and positive,
//!     and powers of two where the policy says so; zero points inside the type, 0 where it is symmetric; one number, or as
//!     many as the axis or the blocks of the policy have in the operand's or result's shape.
//! 21. The codes of a parameter, baked or given, are of a constant; they have its shape and the type of its scheme, and
//!     are in the range of that. (That they have a grid, which stays under them, no transition can break.)
//! 22. The config whose grid one reads, and those that a grid follows from, are there.
//! 23. Each float input and output of the graph has a config. That of an output has the grid of what the value's producer leaves,
//!     or none: the state is `float` then.
//!
//! **Integer**
//!
//! 11. The accelerator computes in integers: no node on it has a float operand or result, but for what `quantize` reads
//!     and `dequantize` makes, and for a `conv` or `gemm` of real numbers alone whose weights a `dequantize` makes of
//!     constant codes.
//! 12. The host computes in floats: nothing on it but `quantize` and `dequantize` touches codes.
//! 13. What `dequantize` reads, what `quantize` makes and what leaves the graph as codes has a grid; so has every
//!     accumulator of i64, because an i64 without one is a shape or an index.
//! 14. Functions of real numbers ([`Term::is_real_function`](crate::Term::is_real_function)) are not applied to codes.
//! 15. Padding reads as real zero: the `pad_value` of a `conv` or `sum_pool` that pads is the zero point of its
//!     operand. The `weight_zero` of a `conv` or `gemm` has the zero points of the weight's grid, where that has one.

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

/// A broken invariant: a defect of a pass, or a damaged file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invariant {invariant} does not hold: {text}{}", .node.iter().map(|node| format!("\n  {node}")).collect::<String>())]
pub struct Violation {
    /// The number in the list of the module's documentation.
    pub invariant: u8,
    /// Where, and how.
    pub text: String,
    /// The node, as the text form has it, where it is one; a long one is cut.
    pub node: Option<String>,
}

/// Every broken invariant of a module, or the first of very many. There is at least one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{}", .shown.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    if *.more > 0 { format!("\nand {} more", .more) } else { String::new() })]
pub struct Violations {
    /// In the order of the graphs and their nodes, [`MOST_SHOWN`] at most.
    pub shown: Vec<Violation>,
    /// The number of those that are not shown.
    pub more: usize,
}

/// The number of violations that are told with their nodes.
pub const MOST_SHOWN: usize = 32;

/// The number of characters of a node that are shown: a form may have thousands of channels.
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

/// Violations that were found so far.
#[derive(Default)]
struct Findings<'m> {
    shown: Vec<(Violation, Option<(&'m Graph, NodeId)>)>,
    more: usize,
}

impl<'m> Findings<'m> {
    /// Takes the outcome of a check.
    fn take(&mut self, outcome: Verified) {
        self.add(outcome, None);
    }

    /// Takes the outcome of a check of a node.
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

/// A text that is not longer than [`NODE_WIDTH`].
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(NODE_WIDTH) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Verifies every graph of a module against the invariants of its stage.
///
/// # Errors
/// All that do not hold. Where edges are broken, nothing is said of what rests on them.
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
    /// Graph and node by name, for the text of a violation.
    fn place(self, node: &Node) -> String {
        format!(
            "{}: {} ({})",
            self.module.name(self.graph.name),
            self.module.name(node.name),
            node.op.name()
        )
    }

    /// Graph and value by name.
    fn value(self, value: &crate::Value) -> String {
        format!(
            "{}: %{}",
            self.module.name(self.graph.name),
            self.module.name(value.name)
        )
    }

    /// An operand, where it is present.
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
