//! What the algorithms of `[optimize]` have done.

use serde::{Deserialize, Serialize};
use strait_compile::{Choice, OptimisedModel};
use strait_core::{Module, NodeId};

use crate::migrated::{MovedScale, moved_scale};
use crate::untouched::UntouchedLayer;

/// What the algorithms of `[optimize]` have done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Optimized {
    /// The ranges of activations that were chosen. `null` if no ranges were chosen.
    pub ranges: Option<OptimizedRanges>,
    /// The scale that was moved between layers. `null` if no algorithm that moves scale was asked for.
    pub moved: Option<MovedScale>,
    /// The observer of the ranges of weights, if it is another one than the configuration's.
    pub weights: Option<String>,
    /// The layers for which codes or biases could be chosen, in the order of the graph.
    pub layers: Vec<OptimizedLayer>,
    /// The other layers whose weights have codes, each with the reason why nothing was chosen.
    pub untouched: Vec<UntouchedLayer>,
}

/// The ranges of activations that were chosen by the error at the outputs of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OptimizedRanges {
    /// The observer for all values without one of their own.
    pub observer: String,
    /// The power of the error divided by the power of the float outputs on calibration samples, before and after.
    pub error: [f64; 2],
    /// The tensors whose range comes from another observer.
    pub tensors: Vec<OptimizedRange>,
}

/// A tensor whose range comes from an observer of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OptimizedRange {
    /// The tensor.
    pub tensor: String,
    /// The observer.
    pub observer: String,
}

/// A layer for which codes or biases could be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OptimizedLayer {
    /// The layer of the canonical model.
    pub layer: String,
    /// What was chosen. `nearest`: each weight is rounded to the nearest code, and the bias is the model's. `bias`: the bias
    /// is corrected. `round`: the weights of an output are rounded together. `repair`: they were first fitted to the results
    /// of the float model.
    pub choice: String,
    /// The error of each candidate.
    pub errors: Vec<CandidateError>,
}

/// The error of one candidate for a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CandidateError {
    /// The candidate, with the names of `choice`.
    pub choice: String,
    /// The root of the mean squared error of the layer's results on the samples that judge, in real numbers.
    pub error: f64,
}

impl Optimized {
    /// The number of layers with this choice.
    pub fn count(&self, choice: Choice) -> usize {
        self.layers.iter().filter(|layer| layer.choice == choice.name()).count()
    }
}

/// Makes the report of an optimisation. The nodes and values are those of the canonical module.
pub(super) fn optimized(canonical: &Module, optimised: &OptimisedModel) -> Optimized {
    let graph = canonical.main();
    let order = graph.topological_order().unwrap_or_default();
    let name = |id: NodeId| graph.node(id).map_or("", |node| canonical.name(node.name)).to_owned();
    let in_order = |id: &NodeId| order.contains(id);
    let layers = &optimised.layers;
    Optimized {
        ranges: optimised.ranges.as_ref().map(|ranges| OptimizedRanges {
            observer: ranges.observer.name().to_owned(),
            error: ranges.error,
            tensors: (ranges.values.iter())
                .filter_map(|(&value, observer)| {
                    Some(OptimizedRange {
                        tensor: canonical.name(graph.value(value)?.name).to_owned(),
                        observer: observer.name().to_owned(),
                    })
                })
                .collect(),
        }),
        weights: optimised.weights.map(|observer| observer.name().to_owned()),
        moved: optimised.migration.as_ref().map(|model| moved_scale(canonical, model)),
        layers: (order.iter())
            .filter_map(|id| Some((id, layers.layers.get(id)?)))
            .map(|(&id, outcome)| OptimizedLayer {
                layer: name(id),
                choice: outcome.choice.name().to_owned(),
                errors: (outcome.errors.iter())
                    .map(|&(choice, error)| CandidateError {
                        choice: choice.name().to_owned(),
                        error,
                    })
                    .collect(),
            })
            .collect(),
        untouched: (layers.untouched.iter())
            .filter(|(id, _)| in_order(id))
            .map(|(&id, why)| UntouchedLayer {
                layer: name(id),
                reason: why.0.clone(),
            })
            .collect(),
    }
}
