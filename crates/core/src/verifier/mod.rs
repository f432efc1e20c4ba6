//! The verifier. It checks what must be true of every graph, and what must be true in each stage. It visits each node,
//! value and operand once.
//!
//! **Every stage**
//! 1. Edges: operands and results exist; a result's `def` names its node and its position there; the use list of a
//!    value has exactly the operands that read it, each once, linked in both directions.
//! 2. There is no cycle, neither among nodes nor among graphs that call each other.
//! 3. Types: element types and shapes are what type inference says (with a fused requantization, the element type that
//!    the requantization makes) and within the limits; constants have their tensor's type; the operands of a call match
//!    the called graph's inputs.
//! 4. Graph inputs and outputs exist, and their values state the right positions.
//! 5. Forms are legal ([`strait_requantize::Requantization::check`]). They have as many channels as the channel axis
//!    ([`crate::Op::channel_axis`]), or a constant operand says which channel each element belongs to, and all these
//!    channels exist. A clamp has its smaller bound first, and both are in its type. A fused form only requantizes an
//!    i32 or i64 accumulator.
//! 6. Grids are legal: scales are finite and positive, zero points are in the range of the type, and there are as many
//!    channels as the axis has indices.
//! 7. Numbers that ops have as attributes: zero points (`pad_value`, `weight_zero`, `a_zero`, `b_zero`) are codes of
//!    the operand's type, and 0 for floats; no float attribute is NaN.
//! 16. Names are unique: no two values of a graph have the same name, and no two nodes have. Observations, fusions and
//!     proofs are stored by the name of a value, and reports name nodes. A value may have the same name as a node.
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
//! 10. Each float operand of a node on the accelerator has a quantization config. There are two exceptions. A
//!     weight-only `conv` or `gemm` computes on real numbers, and only its constant weights have a config. The sum of a
//!     `conv` or `gemm` has no config if its only reader is an `add` that is computed inside the accumulator.
//! 17. Real numbers get their grids only from configs: a float value has no grid of its own, except one that the model
//!     gives for it.
//! 18. Each config belongs to an operand, result, input or output that exists, and none of these has two configs. In
//!     other stages there are no configs.
//! 19. All configs that read the same grid have the same scheme.
//! 20. Grids are legal for their scheme, and so are grids that would be restored: scales are finite and positive, and
//!     powers of two if the policy says so; zero points are in the range of the type, and 0 if the policy is symmetric;
//!     there is one scale and zero point, or as many as the policy's axis or blocks need for the shape.
//! 21. If a parameter has codes, the parameter is a constant. This holds for given codes, and for codes to which the
//!     parameter was converted. The codes have the shape of the parameter and the type of its scheme, and are in the
//!     range of the scheme.
//! 22. If a config reads the grid of another config, or its grid is derived from those of others, these configs exist.
//! 23. Each float input and output of the graph has a config. The config of an output has the grid on which the value
//!     leaves its producer. A config without a grid has the state `float`.
//!
//! **Integer**
//!
//! 11. The accelerator computes in integers: no node on it has a float operand or result. There are two exceptions:
//!     `quantize` reads floats and `dequantize` makes floats; and a `conv` or `gemm` may compute on real numbers if its
//!     weights are dequantized from constant codes.
//! 12. The host computes in floats: no node on it reads or makes codes, except `quantize` and `dequantize`.
//! 13. Each value that `dequantize` reads, that `quantize` makes, or that leaves the graph as codes has a grid. So does
//!     every i64 accumulator, because an i64 without a grid is a shape or an index.
//! 14. Functions of real numbers ([`Term::is_real_function`](crate::Term::is_real_function)) are not applied to codes.
//! 15. Padding stands for real zero: if a `conv` or `sum_pool` pads, its `pad_value` is the zero point of its operand.
//!     If the weights of a `conv` or `gemm` have a grid, the `weight_zero` has the zero points of that grid.

mod configs;
mod edges;
mod findings;
mod quantization;
mod stages;
mod types;

#[cfg(test)]
mod config_tests;
#[cfg(test)]
mod tests;

pub use findings::{MOST_SHOWN, Violation, Violations};

use crate::module::Module;
use findings::{Findings, View};

/// Checks every graph of a module against the invariants of its stage.
///
/// # Errors
/// All invariants that do not hold. If edges are wrong, invariants that depend on them are not checked.
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
