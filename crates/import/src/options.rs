//! Options of reading a model.

use std::collections::BTreeMap;

use strait_core::{Dim, Module};

use crate::error::FreeDimension;

/// Options of reading a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Values of symbolic dimensions, by their name in the model, or by `<input>.<axis>` for one dimension of an input, with a
    /// name or without. Dimensions without a value stay symbolic where the operators allow it.
    pub bind: BTreeMap<String, u64>,
    /// Where the graph begins instead of at its inputs: tensors, or nodes, which stand for their first operand that is
    /// not a constant. Empty: at its inputs.
    pub inputs: Vec<String>,
    /// Where the graph ends instead of at its outputs: tensors, or nodes, which stand for their first result. Empty: at
    /// its outputs.
    pub outputs: Vec<String>,
    /// True to read weights that are codes beside activations of floats as the numbers that they stand for. A runtime quantizes
    /// such activations anew in each run, which no graph here does, so that they are refused otherwise.
    pub hybrid_as_float: bool,
}

/// Assumptions on a model that does not say them, or says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    /// The dimensions that are the batch, and that nobody has bound: they are 1.
    pub batch: Vec<FreeDimension>,
    /// Outputs whose declared shapes are not those that the operators make, with both.
    pub misstated: Vec<String>,
    /// Graphs inside of nodes that no run gets through and that are left out, each with its node and why.
    pub dropped: Vec<String>,
}

/// The dimensions of the main graph's inputs that have no value, in the order of inputs and axes.
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
