//! What an optimisation works on, and what it returns.

use super::layers::find;
use crate::layer::candidates::{Algorithms, Choice};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use strait_core::{Module, NodeId, QuantParams, TensorData};
use strait_execute::Limits;
use strait_lower::Chosen;
use strait_quantize::observe::Samples;
use strait_target::TargetSpec;

/// What an optimisation works on.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The float graph.
    pub float: &'a Module,
    /// The annotated graph, whose parameters are baked. Its nodes and values have the ids of the float graph.
    pub annotated: &'a Module,
    /// The target.
    pub spec: &'a TargetSpec,
    /// The calibration samples.
    pub samples: &'a dyn Samples,
    /// What may be done.
    pub algorithms: Algorithms,
    /// The limits of the runs.
    pub limits: Limits,
    /// The number of threads. The result does not depend on it.
    pub threads: NonZeroUsize,
}

/// The parameters that were chosen, and what was not chosen.
#[derive(Clone, Debug, Default)]
pub struct Optimised {
    /// The layers for which there were candidates.
    pub layers: BTreeMap<NodeId, LayerOutcome>,
    /// The other nodes whose weights have codes, with the reasons.
    pub untouched: BTreeMap<NodeId, Untouched>,
}

impl Optimised {
    /// True if something was chosen in this way for a layer.
    pub fn has(&self, choice: Choice) -> bool {
        self.layers.values().any(|layer| layer.choice == choice)
    }

    /// Gives up what was chosen for a layer.
    pub fn reject(&mut self, id: NodeId, why: &str) {
        if self.layers.remove(&id).is_some() {
            self.untouched.insert(id, Untouched(why.to_owned()));
        }
    }

    /// Gives up what was chosen for all layers.
    pub fn reject_all(&mut self, why: &str) {
        for id in std::mem::take(&mut self.layers).into_keys() {
            self.untouched.insert(id, Untouched(why.to_owned()));
        }
    }
}

/// Why no codes were chosen for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untouched(pub String);

/// The parameters that were chosen for one layer.
#[derive(Clone, Debug)]
pub struct LayerOutcome {
    /// How the parameters were made.
    pub choice: Choice,
    /// The root of the mean squared error of the layer's results on the samples that were left out, for each candidate.
    pub errors: Vec<(Choice, f64)>,
    /// The grid of the weights on which the parameters were chosen.
    pub grid: Arc<QuantParams>,
    /// The codes of the weights. `None` if each weight is rounded to the nearest code.
    pub weights: Option<TensorData>,
    /// The bias in real numbers. `None` if the bias is the model's.
    pub bias: Option<TensorData>,
}

impl LayerOutcome {
    /// Bytes that differ if the parameters differ.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let tensors = [&self.weights, &self.bias].into_iter().flatten();
        let mut bytes = vec![self.choice as u8];
        tensors.for_each(|tensor| bytes.extend_from_slice(tensor.bytes()));
        bytes
    }

    /// Adds the parameters to the tensors of a module, for baking.
    pub fn chosen(&self, module: &mut Module) -> Chosen {
        let mut add = |tensor: &TensorData| module.add_data(tensor.clone());
        Chosen {
            grid: self.grid.clone(),
            weights: self.weights.as_ref().map(&mut add),
            bias: self.bias.as_ref().map(&mut add),
        }
    }
}

/// The number of layers whose codes can be chosen.
pub fn layers(float: &Module, annotated: &Module) -> usize {
    find(float, annotated).0.len()
}
