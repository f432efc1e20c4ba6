//! Proposes where to cut a model whose end does not quantize well, such as a detector.
//!
//! The *end* of a model is everything behind its last layers with weights: nodes from which no convolution and no matrix
//! product is reached. It is worth a cut only if something in it is known to lose accuracy on codes, or runs on the host
//! anyway (`signs`). The cut then lies directly behind the layers with weights, and what computes with their results as
//! codes just as well (activations, residual additions, pools) stays in front of it.
//!
//! ```text
//! … conv ─▶ relu ┊─▶ reshape ─▶ sigmoid ─▶ concat ─▶ top_k
//!                cut
//! ```

mod ends;
mod signs;

use std::{fmt, path::Path};

use serde::Serialize;
use strait_core::{Switches, ValueId};
use strait_import::ReadOptions;

use crate::{failure, model, stop::Stop, table};

/// Where a model should be cut, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cuts {
    /// The tensors or layers for `[model] outputs`. Empty if there is nothing to cut.
    pub outputs: Vec<String>,
    /// What lies behind them that does not quantize well.
    pub reasons: Vec<Sign>,
    /// How many operations lie behind the cut.
    pub behind: usize,
    /// How many operations the model has.
    pub operations: usize,
    /// Inputs of the model that what lies behind the cut reads. Such a tail cannot be run behind the integer model.
    pub inputs: Vec<String>,
}

/// Something behind the last layers with weights that does not quantize well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sign {
    /// The name of the layer.
    pub layer: String,
    /// Its op.
    pub op: String,
    /// Why it does not quantize well.
    pub why: String,
}

/// Proposes where to cut the model in a file.
///
/// # Errors
/// If the file cannot be read as a model.
pub fn cuts(file: &Path) -> Result<Cuts, Stop> {
    let read = model::open(file).and_then(|model| model.read_single(&ReadOptions::default()));
    let (mut module, _) = read.map_err(|error| failure::model(&error, file))?;
    let main = module.main;
    module.lay_open(main);
    // Folding constants and batch normalizations shows which nodes compute with the samples.
    let (module, _) = strait_compile::canonicalise(module, &Switches::default())?;
    let graph = module.main();
    let end = ends::end(&module);
    let found = signs::signs(&module, &end);
    let behind = ends::connected(graph, &end, found.iter().map(|(id, _)| *id));
    let named = |value: ValueId| -> Option<String> {
        let of = graph.value(value)?;
        if !module.names.is_made(of.name) {
            return Some(module.name(of.name).to_owned());
        }
        // A rule made this tensor: its layer has a name of the model.
        let (_, node) = graph.producer(value)?;
        Some(module.name(*node.sources.last()?).to_owned())
    };
    let (mut outputs, mut inputs): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    if !behind.is_empty() {
        let others = graph.outputs().iter().copied();
        let others = others.filter(|&value| graph.producer(value).is_none_or(|(id, _)| !behind.contains(&id)));
        let cut = ends::reads(graph, &behind);
        for value in cut.iter().copied().chain(others) {
            let list = match graph.producer(value) {
                Some(_) => &mut outputs,
                None => &mut inputs,
            };
            list.extend(named(value).filter(|name| !list.contains(name)));
        }
    }
    Ok(Cuts {
        outputs,
        reasons: found.into_iter().map(|(_, sign)| sign).collect(),
        behind: behind.len(),
        operations: graph.nodes().count(),
        inputs,
    })
}

/// A text lists at most this many reasons.
const MOST: usize = 5;

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.outputs.is_empty() {
            return writeln!(
                f,
                "nothing to cut: behind the last layers with weights there is nothing that does not quantize well"
            );
        }
        writeln!(
            f,
            "cut at {}: {} of {} lie behind, and do not quantize well",
            table::count(self.outputs.len(), "tensor"),
            self.behind,
            table::count(self.operations, "operation")
        )?;
        for Sign { layer, op, why } in self.reasons.iter().take(MOST) {
            writeln!(f, "  {layer} ({op}): {why}")?;
        }
        if let Some(more @ 1..) = self.reasons.len().checked_sub(MOST) {
            writeln!(f, "  and {more} more")?;
        }
        writeln!(f, "\n[model]\noutputs = [")?;
        for output in &self.outputs {
            writeln!(f, "  {},", toml::Value::from(output.as_str()))?;
        }
        writeln!(f, "]")?;
        match self.inputs.is_empty() {
            true => writeln!(f, "tail = \"onnx\""),
            false => writeln!(
                f,
                "tail = \"drop\"    # it also reads the input `{}` of the model, so that it cannot run behind the cut",
                self.inputs.join("`, `")
            ),
        }
    }
}
