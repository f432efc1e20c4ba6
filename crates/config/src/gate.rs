//! The table `[gate]`: requirements for the result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{evaluation::Drop, leaf::Pattern};

/// Requirements for the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// The largest loss that the integer model may have compared with the float model. Each key is the name of a metric
    /// of `[evaluation]`. The metrics `agreement` and `cosine` compare with the float model, so the float model itself
    /// counts as 100 and as 1. If a metric has several outputs, each of them has to meet the limit.
    pub accuracy_drop: BTreeMap<String, Drop>,
    /// The smallest value that a metric may have for the integer model, in the metric's unit. Each key is the name of a
    /// metric of `[evaluation]`: `least = { snr = 30 }`.
    pub least: BTreeMap<String, f64>,
    /// Source names of the layers that may run on the host; no other layer may. Each name has to be in the model. With
    /// `[]`, no layer may run on the host. Absent: every layer may.
    pub host_layers: Option<Vec<Pattern>>,
    /// A requirement for the fusions.
    pub fusions: Option<FusionGate>,
    /// A requirement for the outputs on the first calibration samples.
    pub sanity: Option<SanityGate>,
}

/// What is required of the outputs for the first calibration samples. The sanity check compares the integer model with the
/// float model on these samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SanityGate {
    /// Makes the warning of the sanity check an error. The check fails if an output of the integer model has an SNR
    /// below 10 dB, if an output is constant although the float model's output is not, or if the predicted class (the
    /// index of the largest number) differs from the float model's for at least two samples. A compilation without
    /// samples also fails.
    Error,
}

/// What is required of the fusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FusionGate {
    /// Each fusion is proved to give the same integers as the operations that it replaces.
    Exact,
}
