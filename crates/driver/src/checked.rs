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
    /// The operators of the TFLite file, if an option of the target names an accelerator for it.
    pub file: Option<CheckedFile>,
}

/// Where the operators of a TFLite file run on a microcontroller with an accelerator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedFile {
    /// The accelerator.
    pub accelerator: String,
    /// The configuration of the accelerator for which cycles are estimated.
    pub configuration: Option<String>,
    /// The operators, in the order of the file.
    pub operators: Vec<CheckedOperator>,
    /// Why there is no file. The list of operators is empty then.
    pub refused: Option<String>,
}

/// Where an operator of a file runs, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedOperator {
    /// The operator, such as `CONV_2D`.
    pub operator: String,
    /// The name of its first result.
    pub result: String,
    /// Why it runs on the CPU. Absent if the accelerator takes it.
    pub cpu: Option<String>,
    /// Estimated cycles on the accelerator.
    pub cycles: Option<u64>,
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
    /// Estimated cycles, if the layer runs on the accelerator and the target's table states rates.
    pub cycles: Option<u64>,
}
