//! `[gate]`: demands on the result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{evaluation::Drop, leaf::Pattern};

/// Demands on the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// The largest loss of the integer model compared with the float model, by the name of a metric of `[evaluation]`. The
    /// float model's agreement counts as 100, and its cosine as 1. If a metric has several outputs, each of them has to meet
    /// the limit.
    pub accuracy_drop: BTreeMap<String, Drop>,
    /// The smallest value of a metric for the integer model, by the name of a metric of `[evaluation]` and in its unit: `least
    /// = { snr = 30 }`.
    pub least: BTreeMap<String, f64>,
    /// The only layers that may run on the host, by their source names. Each name has to be in the model. `[]`: none may.
    /// Absent: all may.
    pub host_layers: Option<Vec<Pattern>>,
    /// A requirement for the fusions.
    pub fusions: Option<FusionGate>,
    /// A requirement for the outputs on the first calibration samples.
    pub sanity: Option<SanityGate>,
}

/// Demand on the outputs for the first calibration samples, on which the integer model runs beside the float model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SanityGate {
    /// Makes the warning of the sanity check an error. The check fails if an output has an SNR below 10 dB, if it is constant
    /// and the float model's is not, or if two answers differ from the float model's. A compilation without samples also fails.
    Error,
}

/// Demand on the fusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FusionGate {
    /// Each fusion is proved to give the same integers.
    Exact,
}
