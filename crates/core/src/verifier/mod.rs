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
