//! Options for reading a model.

use std::collections::BTreeMap;

use strait_core::{Dim, Module};

use crate::error::FreeDimension;

/// Options for reading a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Values of symbolic dimensions, by their name in the model, or by `<input>.<axis>` for one dimension of an input,
    /// whether it has a name or not. Dimensions without a value stay symbolic if the operators allow it.
    pub bind: BTreeMap<String, u64>,
    /// Where the graph begins, if not at its inputs: names of tensors, or of nodes, which stand for their first operand
    /// that is not a constant. Empty means at its inputs.
    pub inputs: Vec<String>,
    /// Where the graph ends, if not at its outputs: names of tensors, or of nodes, which stand for their first result.
    /// Empty means at its outputs.
    pub outputs: Vec<String>,
    /// True to read integer weights beside float activations as the floats that they stand for. If false, such layers
    /// are refused, because a runtime quantizes their activations anew in each run, which no graph here does.
    pub hybrid_as_float: bool,
}

/// What was assumed about a model where it says nothing, or something else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    /// The batch dimensions that nobody has bound; they are taken as 1.
    pub batch: Vec<FreeDimension>,
    /// Outputs whose declared shape differs from the one that the operators give, with both shapes.
    pub misstated: Vec<String>,
    /// Graphs inside of nodes that are left out because no run gets through them: each with its node and the reason.
    pub dropped: Vec<String>,
}

/// The dimensions of the main graph's inputs that have no value, ordered by input and axis.
pub fn free_dimensions(module: &Module) -> Vec<FreeDimension> {
    let graph = module.main();
    let mut free = Vec::new();
    for input in graph.inputs().iter().filter_map(|&id| graph.value(id)) {
        for (axis, dim) in input.ty.shape.iter().enumerate() {
            if let Dim::Named(name) = *dim {
                free.push(FreeDimension {
                    input: module.name(input.name).into(),
                    axis,
                    name: module.name(name).into(),
                });
            }
        }
    }
    free
}
