//! Options for reading a model.

use std::collections::BTreeMap;

use strait_core::{Dim, Module};

use crate::error::FreeDimension;

/// Options for reading a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Values of symbolic dimensions. A key is the name of a dimension in the model, or `<input>.<axis>`. The second
    /// form stands for a single dimension of an input, even if that dimension has a name. A dimension without a value
    /// stays symbolic if the operators allow that.
    pub bind: BTreeMap<String, u64>,
    /// Where the graph begins: names of tensors, or of nodes. A node's name stands for its first operand that is not a
    /// constant. If the list is empty, the graph begins at its inputs.
    pub inputs: Vec<String>,
    /// Where the graph ends: names of tensors, or of nodes. A node's name stands for its first result. If the list is
    /// empty, the graph ends at its outputs.
    pub outputs: Vec<String>,
    /// If true, the integer weights of hybrid layers, which have float activations, are read as the floats that the
    /// weights stand for. If false, such layers are refused: a runtime would quantize their activations anew in each
    /// run, and no graph of Strait does that.
    pub hybrid_as_float: bool,
    /// The axis of the batch in inputs, by their names; `None` for an input without a batch. In an input that is not here, it
    /// is the first axis.
    pub batch: BTreeMap<String, Option<usize>>,
}

/// What was assumed about a model, because the model does not say it or says something else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    /// The batch dimensions that nothing has bound; their size is taken as 1.
    pub batch: Vec<FreeDimension>,
    /// Outputs for which the file declares another shape than the one that follows from the operators. Each entry has
    /// both shapes.
    pub misstated: Vec<String>,
    /// Graphs inside of nodes that are left out because they can never run. Each entry has the node and the reason.
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
