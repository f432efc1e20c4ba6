//! The table `[optimize]`: algorithms that choose ranges, codes and biases from the calibration samples.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_compile::Algorithms;

use super::{
    data::{Data, Unreadable},
    leaf::LabelPath,
    precision::{AccuracyDrop, SizeGoal},
};

/// Algorithms that make the integer model compute what the float model computes on the calibration samples. They choose the
/// ranges of activations and the codes of weights, and correct biases. Nothing is random: the same samples give the same bytes
/// on every machine.
///
/// The layers are optimised one after the other, in the order of the graph. Each layer is fitted to what it reads in the
/// integer model with the layers before it already optimised. Every fourth sample is left out when codes and biases are
/// computed. On these samples, the results of each layer are compared with those of the float model: an algorithm is used for
/// a layer only if it makes the error clearly smaller. At last, the whole model is compared in the same way. The report lists for
/// each layer what was done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Optimize {
    /// Which algorithms run, unless a key of their own says something else.
    pub preset: Preset,
    /// Corrects the bias of each layer, so that the mean of each output is that of the float model.
    pub correct_bias: Option<bool>,
    /// Chooses the ranges of activations by the error at the outputs of the model. Each observer makes candidates, first for all
    /// values together and then for single values. The observer of `[calibration]` is the first candidate. What a rule sets for a
    /// value stays.
    pub ranges: Option<bool>,
    /// Moves scale between the weights of neighbouring layers, one channel at a time (cross-layer equalization): through ReLU,
    /// leaky ReLU, pools, additions and layers with one channel in each group. What the float model computes does not change.
    pub equalize: Option<bool>,
    /// Moves scale between the activations and the weights of matrix products, one channel at a time (SmoothQuant). A normalization,
    /// a multiplication or a layer in front of them takes up the factors. If nothing can, but the activations are real numbers
    /// there in the integer model, a multiplication is added in front of the products, or behind a layer. What the float model
    /// computes does not change.
    pub smooth: Option<bool>,
    /// Rounds the weights of each output together, so that their errors compensate each other on the samples. This is GPTQ, the
    /// nearest-plane algorithm on the second moments of the layer's inputs. It also tries weights that were first fitted to the
    /// results of the float model.
    pub round: Option<bool>,
    /// Mixed precision: gives 16 bits to the activations of those layers that lose most for their cost, if the target has 16
    /// bits. It stops where rounding activations does no more harm than rounding weights, and at a fifth of the multiply-adds.
    /// With `accuracy_drop`, leave this key out.
    pub types: Option<bool>,
    /// How much of a metric may be lost. The compiler searches for the configuration that costs least and holds this.
    pub accuracy_drop: Option<AccuracyDrop>,
    /// How large the weights may be. The compiler searches for the weights that can have 4 bits with the least loss.
    pub size: Option<SizeGoal>,
    /// The samples on which `accuracy_drop` measures its metric, in the same forms as `data` of `[calibration]`. The same
    /// preprocessing applies. Absent: the calibration samples.
    pub data: Option<Data>,
    /// What to do with images of `data` that cannot be decoded.
    pub unreadable: Unreadable,
    /// The labels of these samples, in the same forms as `labels` of `[evaluation]`.
    pub labels: Option<LabelPath>,
    /// The number of samples of `data` to use. These are the first samples of the set. Absent: all.
    pub samples: Option<NonZeroU32>,
}

/// A choice of algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// No algorithm.
    #[default]
    Off,
    /// Only `correct_bias`.
    Quick,
    /// All algorithms.
    Thorough,
}

impl Optimize {
    /// The algorithms that run. `None` if there are none.
    pub fn algorithms(&self) -> Option<Algorithms> {
        let (quick, thorough) = (self.preset != Preset::Off, self.preset == Preset::Thorough);
        let round = self.round.unwrap_or(thorough);
        let algorithms = Algorithms {
            correct_bias: self.correct_bias.unwrap_or(quick),
            round,
            repair: round,
            ranges: self.ranges.unwrap_or(thorough),
            smooth: self.smooth.unwrap_or(thorough),
            equalize: self.equalize.unwrap_or(thorough),
        };
        let moves = algorithms.smooth || algorithms.equalize;
        (algorithms.correct_bias || algorithms.round || algorithms.ranges || moves).then_some(algorithms)
    }

    /// The algorithms that run with `preset = "thorough"`.
    pub fn thorough(&self) -> Option<Algorithms> {
        let thorough = Optimize {
            preset: Preset::Thorough,
            ..self.clone()
        };
        thorough.algorithms()
    }

    /// True if the types of layers are searched for.
    pub fn searches(&self) -> bool {
        self.types == Some(true) || self.accuracy_drop.is_some() || self.size.is_some()
    }
}
