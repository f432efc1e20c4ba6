//! Where the layers of a model run on targets, and what they cost.

use serde::Serialize;

use crate::report::{ReasonReport, Summary};

/// Where the layers of a model run on each target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checks {
    /// One for each target, in the order of the configuration.
    pub targets: Vec<Checked>,
}

/// Where the layers of a model run on one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// Id of the target.
    pub target: String,
    /// Numbers of operations and fusions of the integer model.
    pub summary: Summary,
    /// The layers of the float model, as the rewrite rules of the target leave it, in the order in which they run.
    pub layers: Vec<CheckedLayer>,
}

/// Where a layer runs, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedLayer {
    /// Name of the layer.
    pub name: String,
    /// Operator of the layer.
    pub op: String,
    /// Why the layer runs on the host. Absent if it runs on the accelerator.
    pub host: Option<ReasonReport>,
    /// Multiply-adds of the layer; elements that it visits if it has no products.
    pub operations: u64,
    /// Bytes of its weights and other constants.
    pub constant_bytes: u64,
    /// Bytes of the values that it reads and writes, each counted once.
    pub value_bytes: u64,
}
