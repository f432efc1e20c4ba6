//! The verifier: what holds in every graph, and what each stage adds. It costs one visit of each node, value and operand.
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
//!    type; only an i32 accumulator is requantized by a fused form.
//! 6. Grids are legal: scales finite and positive, zero points inside the type, as many channels as their axis.
//! 7. The zero points that ops carry (`pad_value`, `a_zero`, `b_zero`) are codes of the operand's type; 0 for floats.
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
//! 10. Each float operand of a node on the accelerator has a quantization config.
//!
//! **Integer**
//!
//! 11. The accelerator computes in integers: no node on it has a float operand or result, but for what `quantize` reads and
//!     `dequantize` makes.
//! 12. The host computes in floats: nothing on it but `quantize` and `dequantize` touches values with a grid.
//! 13. What `dequantize` reads, what `quantize` makes and what leaves the graph as codes has a grid.
//! 14. Functions of real numbers (`relu`, `clip`, `unary`, `leaky_relu`, `hard_sigmoid`, `elu`, `softmax`, `div`, `pow`, the
//!     normalizations, the mean) are not applied to codes.
//! 15. Padding reads as real zero: the `pad_value` of a `conv` or `sum_pool` that pads is the zero point of its operand.

mod edges;
mod quantization;
mod stages;
mod types;

#[cfg(test)]
mod tests;

use crate::graph::{Graph, Node};
use crate::module::Module;

/// A broken invariant: a defect of a pass, or a damaged file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invariant {invariant} does not hold: {text}")]
pub struct Violation {
    /// The number in the list of the module's documentation.
    pub invariant: u8,
    /// Where, and how.
    pub text: String,
}

type Verified = Result<(), Violation>;

fn ensure(holds: bool, invariant: u8, text: impl FnOnce() -> String) -> Verified {
    if holds {
        Ok(())
    } else {
        Err(Violation {
            invariant,
            text: text(),
        })
    }
}

/// Verifies every graph of a module against the invariants of its stage.
pub fn verify(module: &Module) -> Result<(), Violation> {
    types::calls(module)?;
    for graph in &module.graphs {
        let view = View { module, graph };
        edges::verify(view)?;
        types::verify(view)?;
        quantization::verify(view)?;
        stages::verify(view)?;
    }
    Ok(())
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
