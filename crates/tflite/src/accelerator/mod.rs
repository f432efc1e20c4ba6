//! Says which operators of a file an accelerator for microcontrollers takes, and why it leaves the others to the CPU.
//!
//! The rules are those of Vela 5.2, Arm's compiler for Ethos-U. Vela lists them with `--supported-ops-report`.
//! `cargo xtask oracles --devices` compares the verdicts with those of Vela itself.

mod checks;
mod cycles;
mod rows;
mod site;

use crate::graph::Graph;
use bytes::Bytes;
use strait_import::ReadError;

/// An accelerator that takes TFLite files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// Ethos-U55, and Ethos-U65, which has the same rules.
    EthosU55,
    /// Ethos-U85.
    EthosU85,
}

impl Accelerator {
    /// All accelerators.
    pub const ALL: [Accelerator; 2] = [Accelerator::EthosU55, Accelerator::EthosU85];

    /// The name in options of targets.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::EthosU55 => "ethos-u55",
            Accelerator::EthosU85 => "ethos-u85",
        }
    }

    /// The configuration for which cycles are estimated, in the words of Vela.
    pub fn estimated(self) -> Option<&'static str> {
        match self {
            Accelerator::EthosU55 => Some(cycles::CONFIGURATION),
            Accelerator::EthosU85 => None,
        }
    }
}

/// Where an operator runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The operator, such as `CONV_2D`.
    pub operator: String,
    /// The name of its first result.
    pub result: String,
    /// Why the operator runs on the CPU. `None` if the accelerator takes it.
    pub why: Option<String>,
    /// How many cycles the accelerator takes for it, if it takes it and [`Accelerator::estimated`] names a configuration.
    pub cycles: Option<u64>,
}

/// Returns a verdict for each operator of a file, in the order of the file.
///
/// # Errors
/// If the bytes are not a TFLite file.
pub fn verdicts(file: &Bytes, accelerator: Accelerator) -> Result<Vec<Verdict>, ReadError> {
    let graph = Graph::new(file)?;
    let verdicts = graph.nodes.iter().map(|node| {
        let (operator, result) = (graph.codes[node.code].name(), node.outputs.first().copied().flatten());
        let why = rows::why_not(&graph, node, &operator, accelerator);
        let is_estimated = why.is_none() && accelerator.estimated().is_some();
        Verdict {
            why,
            cycles: is_estimated.then(|| cycles::cycles(&graph, node, &operator)),
            result: result.map_or_else(String::new, |index| graph.tensors[index].name.clone()),
            operator,
        }
    });
    Ok(verdicts.collect())
}
