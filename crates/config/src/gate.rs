//! `[gate]`: demands on the result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{evaluation::Drop, leaf::Pattern};

/// Demands on the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Largest loss of the integer model against the float model, by the name of a metric of `[evaluation]`. The float model's
    /// agreement is 100, and its cosine 1. Of a metric of several outputs, each is to meet it.
    #[serde(default)]
    pub accuracy_drop: BTreeMap<String, Drop>,
    /// Smallest figure of the integer model, by the name of a metric of `[evaluation]`, in its unit: `least = { snr = 30 }`.
    #[serde(default)]
    pub least: BTreeMap<String, f64>,
    /// The only layers that may run on the host, by their source names, each of which is in the model. `[]`: none. Absent: any.
    pub host_layers: Option<Vec<Pattern>>,
    /// Demand on the fusions that are made.
    pub fusions: Option<FusionGate>,
    /// Demand on the outputs for the first calibration samples.
    pub sanity: Option<SanityGate>,
}

/// Demand on the outputs for the first calibration samples, on which the integer model runs beside the float model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SanityGate {
    /// An error in the place of a warning: of an output with an SNR below 10 dB, one that is constant where that of the float
    /// model is not, one with two answers that differ from the float model's. A compilation without samples does not meet it.
    Error,
}

/// Demand on the fusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FusionGate {
    /// Each is proved to give the same integers.
    Exact,
}
