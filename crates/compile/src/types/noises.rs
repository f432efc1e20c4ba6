//! Measures the noise that the quantization of a part of the model makes at the outputs.
//!
//! All other parts compute with real numbers. The noise of an output is Σ (difference)² / Σ (float element)², and the noise
//! of the model is the mean over samples and outputs. As long as noise is small, the noise of several parts together is about
//! the sum of their noises, so that one measurement for each part is enough to compare all sets of parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use strait_core::{ConfigId, NodeId, Port};
use strait_execute::Tensor;
use strait_quantize::observe::Samples;

use crate::{Apart, Built, CompileError, Role, Watch, built::Simulated};

use super::Unit;

/// Runs with only one part of the model quantized.
pub struct Noises<'a> {
    built: &'a Built,
    apart: Apart<'a>,
}

impl<'a> Noises<'a> {
    /// Runs the float model on the samples.
    ///
    /// # Errors
    /// Samples cannot be used, the model takes more than its limits allow, or the caller has asked to stop.
    pub fn new(built: &'a Built, samples: &Arc<dyn Samples>, watch: &dyn Watch) -> Result<Noises<'a>, CompileError> {
        let apart = Apart::new(built, samples, watch)?;
        Ok(Noises { built, apart })
    }

    /// The noise of the rounding of a unit's tensors.
    ///
    /// # Errors
    /// As for [`Noises::new`].
    pub fn of_tensors(&self, unit: &Unit, watch: &dyn Watch) -> Result<f64, CompileError> {
        let graph = self.built.annotated.main();
        let is_of = |node: NodeId, port: Port| {
            let value = graph.value_at(node, port);
            value.is_some_and(|value| unit.values.contains(&value))
        };
        self.of(|_, node, port| is_of(node, port), watch)
    }

    /// The noise of the rounding of a unit's tensors and of the weights and biases of its layers.
    ///
    /// # Errors
    /// As for [`Noises::new`].
    pub fn of_layers(&self, unit: &Unit, watch: &dyn Watch) -> Result<f64, CompileError> {
        let graph = self.built.annotated.main();
        let nodes: BTreeSet<NodeId> = unit.nodes.iter().copied().collect();
        let is_of = |role: Role, node: NodeId, port: Port| match role {
            Role::Weights | Role::Bias => nodes.contains(&node),
            Role::Activations | Role::Host => {
                let value = graph.value_at(node, port);
                value.is_some_and(|value| unit.values.contains(&value))
            }
        };
        self.of(is_of, watch)
    }

    /// The noise of the rounding of a layer's weights.
    ///
    /// # Errors
    /// As for [`Noises::new`].
    pub fn of_weights(&self, layer: NodeId, watch: &dyn Watch) -> Result<f64, CompileError> {
        self.of(|role, node, _| role == Role::Weights && node == layer, watch)
    }

    /// The noise of the rounding of all weights.
    ///
    /// # Errors
    /// As for [`Noises::new`].
    pub fn of_all_weights(&self, watch: &dyn Watch) -> Result<f64, CompileError> {
        self.of(|role, _, _| role == Role::Weights, watch)
    }

    /// The noise of a model that was made from the same float model, with everything rounded. `samples` have to be those of
    /// [`Noises::new`].
    ///
    /// # Errors
    /// As for [`Noises::new`].
    pub fn of_model(&self, built: &Built, samples: &Arc<dyn Samples>, watch: &dyn Watch) -> Result<f64, CompileError> {
        let simulated = built.simulate(samples, watch)?;
        Ok(noise(self.apart.float(), &simulated.outputs))
    }

    fn of(&self, rounds: impl Fn(Role, NodeId, Port) -> bool, watch: &dyn Watch) -> Result<f64, CompileError> {
        let graph = self.built.annotated.main();
        let chosen = graph.quant.iter().filter_map(|(id, config)| {
            let role = Role::of(graph, config);
            rounds(role, config.node, config.port).then_some(id)
        });
        let chosen: Vec<ConfigId> = chosen.collect();
        if chosen.is_empty() {
            return Ok(0.0);
        }
        let simulated: Simulated = self.apart.rounding(chosen.into_iter(), |_| true, watch)?;
        Ok(noise(self.apart.float(), &simulated.outputs))
    }
}

/// The mean noise over samples and outputs. Noise that is larger than the signal counts as the signal.
fn noise(float: &[Vec<Arc<Tensor>>], other: &[Vec<Arc<Tensor>>]) -> f64 {
    let square = |x: f64| x * x;
    let (mut sum, mut count) = (0.0, 0_u32);
    for (float, other) in float
        .iter()
        .zip(other)
        .flat_map(|(float, other)| float.iter().zip(other))
    {
        let (Ok(float), Ok(other)) = (float.values::<f32>(), other.values::<f32>()) else {
            continue;
        };
        let power: f64 = float.iter().map(|&x| square(x.into())).sum();
        let pairs = float.iter().zip(other);
        let noise: f64 = pairs.map(|(&x, &y)| square(f64::from(x) - f64::from(y))).sum();
        if power > 0.0 {
            sum += (noise / power).min(1.0);
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
}
