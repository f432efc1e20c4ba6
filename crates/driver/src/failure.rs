//! Converts errors of other crates to findings. Errors that only a bug in Strait can cause are reported as defects.

use std::{collections::BTreeMap, io, path::Path};

use strait_artifact::Error;
use strait_compile::CompileError;
use strait_container::{ArtifactError, ModelChanged, artifact_around};
pub use strait_core::codes;
use strait_document::KeyPath;
use strait_evaluate::EvaluateError;
use strait_execute::{Excess, ExecuteError, NodeCost};
use strait_import::{FreeDimension, NodeFault, ReadError};

use strait_samples::DataError;
use strait_target::{RegistryError, TableError};

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    recognise,
    stop::Stop,
    table,
};

/// The finding for stored data that cannot be used.
pub fn data(error: DataError) -> Diagnostics {
    let mut finding = Diagnostic::error(error.kind.code(), error.message);
    finding.notes = error.notes;
    finding.help = error.help;
    finding.into()
}

/// The finding for a run that failed on one sample. It names the sample's index, counted from 0.
pub fn execute_sample(error: ExecuteError, index: usize) -> Stop {
    Stop::from(error).note(&format!("it is sample {index} that fails"))
}

/// Returns an error if `place` is inside the folder of an artifact, because this folder must contain only the
/// artifact's own files. `what` is the beginning of the message; the artifact's path is put after it.
pub(crate) fn outside(place: &Path, what: &str, help: &str) -> Result<(), Diagnostics> {
    artifact_around(place).map_or(Ok(()), |artifact| {
        let message = format!("{what} the artifact {}", artifact.display());
        Err(Diagnostic::error(codes::OUTPUT, message).help(help).into())
    })
}

/// The finding for a file that cannot be written.
pub fn unwritten(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::OUTPUT, format!("{} cannot be written: {error}", path.display()))
}

/// The finding for a run that needs more memory or operations than the limits allow.
pub(crate) fn excess(found: &Excess) -> Diagnostic {
    match found {
        Excess::Memory {
            taken,
            allowed,
            widest: NodeCost { node, op, .. },
            weights,
            copies,
            statistics,
            values,
            results,
        } => {
            let message = format!(
                "a run of one sample takes {}, and {} may be used; the most at `{node}` ({op})",
                table::bytes(*taken),
                table::bytes(*allowed)
            );
            let note = format!(
                "weights {} and copies of them {}, statistics {}, values of one sample {}, its inputs and results {}",
                table::bytes(*weights),
                table::bytes(*copies),
                table::bytes(*statistics),
                table::bytes(*values),
                table::bytes(*results)
            );
            Diagnostic::error(found.code(), message).note(note).help(
                "`--memory SIZE` sets another limit, by default four fifths of what the machine or its container has; a \
                 smaller input or batch (`bind` in [model]) takes less",
            )
        }
        Excess::Work {
            operations,
            allowed,
            busiest: NodeCost { node, op, amount },
        } => {
            let message = format!(
                "a run of one sample takes about {} operations, and {} are allowed; {} of them in `{node}` ({op})",
                table::figure(*operations),
                table::figure(*allowed),
                table::figure(*amount)
            );
            Diagnostic::error(found.code(), message).help(format!(
                "if the model is meant so, `--operations {}` or `--operations unlimited` lifts the limit",
                table::figure(operations.saturating_add(operations / 10))
            ))
        }
    }
}

/// The finding for an error of the registry of targets, at its place in the table if the error names one.
pub fn registry(error: &RegistryError) -> Diagnostics {
    match error {
        RegistryError::Table(TableError::Table(findings)) => findings.clone(),
        other => Diagnostic::error(codes::TARGET, other.to_string()).into(),
    }
}

/// The finding for a fault of a target's own code.
pub fn of_target(message: String) -> Diagnostic {
    Diagnostic::error(codes::TARGET, message)
        .note("this is the target's code, and neither Strait's nor the model's")
        .help("the crate strait-conformance holds every kernel of a target against the form that it is for")
}

/// The finding for a dimension without a size. It names the key that sets the size.
pub fn free_dimension(free: &FreeDimension) -> Diagnostic {
    let (axis, input, name) = (free.axis, &free.input, &free.name);
    let message = match *name == format!("{input}.{axis}") {
        true => {
            format!("dimension {axis} of the input {input:?} has no size: in the model it is absent, or not above 0")
        }
        false => format!("dimension {axis} of the input {input:?}, `{name}`, has no size"),
    };
    let key = KeyPath::of(&[free.name.as_str()]);
    let own = KeyPath::of(&[format!("{input}.{axis}").as_str()]);
    let alone = match own == key {
        true => String::new(),
        false => format!("; `{own} = 1` is for this dimension alone"),
    };
    // A shell removes double quotes unless they are inside single quotes.
    let set = match key.to_string() {
        plain if !plain.contains('"') => format!("--set model.bind.{plain}=1"),
        quoted => format!("--set 'model.bind.{quoted}=1'"),
    };
    let help = format!("give it one: `bind = {{ {key} = 1 }}` in [model], or `{set}`{alone}");
    Diagnostic::error(codes::FREE_DIMENSION, message)
        .about(KeyPath::of(&["model", "bind"]))
        .help(help)
}

/// A remark that the batch size was set to 1 because the configuration does not set it.
pub fn batch(bound: &[FreeDimension]) -> Option<Diagnostic> {
    let mut names: Vec<&str> = bound.iter().map(|free| free.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let inputs: Vec<String> = bound.iter().map(|free| format!("{:?}", free.input)).collect();
    let keys: Vec<String> = names
        .iter()
        .map(|name| format!("{} = 1", KeyPath::of(&[*name])))
        .collect();
    let which = match bound.iter().all(|free| free.axis == 0) {
        true => "the first dimension of",
        false => "the dimension at `batch_axis` of",
    };
    let message = format!(
        "`{}`, {which} {}, has no size: it is taken for the batch, and is 1",
        names.join("`, `"),
        inputs.join(" and ")
    );
    let help = format!(
        "to say so yourself, write `bind = {{ {} }}` in [model]",
        keys.join(", ")
    );
    (!bound.is_empty()).then(|| Diagnostic::remark(codes::BATCH, message).help(help))
}

/// A remark on outputs whose shapes in the file differ from what their operators compute.
pub fn other_shapes(outputs: &[String]) -> Option<Diagnostic> {
    let message = format!(
        "the model declares shapes that its operators do not make: {}",
        outputs.join("; ")
    );
    let finding = Diagnostic::warning(codes::MISSTATED, message);
    let finding =
        finding.help("what the operators make is taken, as runtimes do; look at it if a size in [model] is not meant");
    (!outputs.is_empty()).then_some(finding)
}

/// Returns a remark on nested graphs that would fail in every run, for example one branch of an `If` node. Such a graph
/// is left out, and the other graph of the node takes the place of the node.
pub fn dropped(graphs: &[String]) -> Option<Diagnostic> {
    let message = format!(
        "the model has graphs that no run gets through, and they are left out: {}",
        graphs.join("; ")
    );
    let finding = Diagnostic::warning(codes::DROPPED, message);
    let finding = finding.help(
        "the other graph of such a node is taken, whatever its condition is; look at it if a size in [model] is not meant",
    );
    (!graphs.is_empty()).then_some(finding)
}

/// The error that stops the work because a model cannot be read.
pub fn model(error: &ReadError, file: &Path) -> Stop {
    model_findings(error, file).into()
}

/// Returns the messages for nodes that cannot be read. Nodes with the same problem share a message.
fn alike(nodes: &[NodeFault]) -> Vec<String> {
    let (mut said, mut known) = (Vec::<(&NodeFault, usize)>::new(), BTreeMap::new());
    for node in nodes {
        let at = *known.entry((&node.operator, &node.reason.text)).or_insert(said.len());
        match said.get_mut(at) {
            Some((_, more)) => *more += 1,
            None => said.push((node, 0)),
        }
    }
    let note = |(node, more): (&NodeFault, usize)| match more {
        0 => node.to_string(),
        more => format!(
            "`{}` and {more} more ({}): {}",
            node.node, node.operator, node.reason.text
        ),
    };
    said.into_iter().map(note).collect()
}

/// The finding that a file of the model was changed after the model was read.
pub fn model_changed(changed: ModelChanged) -> Diagnostics {
    let finding = Diagnostic::error(codes::MODEL, changed.to_string());
    finding.help(ModelChanged::HELP).into()
}

/// The findings for a model that cannot be read.
pub fn model_findings(error: &ReadError, path: &Path) -> Diagnostics {
    let file = path.display();
    match error {
        ReadError::Unsupported(nodes) => {
            let message = format!("{} of the layers of {file} cannot be read", nodes.len());
            let finding = Diagnostic::error(error.code(), message);
            (alike(nodes).into_iter()).fold(finding, Diagnostic::note).into()
        }
        ReadError::FreeDimensions { reason, free } => {
            let mut findings: Vec<Diagnostic> = free.iter().map(free_dimension).collect();
            if let Some(first) = findings.first_mut() {
                first.notes.push(reason.clone());
            }
            Diagnostics(findings)
        }
        ReadError::UnknownName { .. } | ReadError::Options { .. } => {
            let key = KeyPath::of(&["model", error.option().unwrap_or("file")]);
            Diagnostic::error(error.code(), error.to_string()).about(key).into()
        }
        ReadError::Decode { format, words } => recognise::refused_model(path, format, words).into(),
        ReadError::DataFiles(faults) => {
            let message = format!("the weights of {file} are in other files, which cannot all be read");
            let finding = Diagnostic::error(error.code(), message)
                .help("they belong beside the model, under the names that it gives them: copy or download them too");
            let pointers = faults.iter().any(|fault| fault.is_pointer);
            let finding = match pointers {
                true => finding.help("fetch what is in Git LFS: `git lfs pull`, in the model's repository"),
                false => finding,
            };
            (faults.iter())
                .fold(finding, |finding, fault| finding.note(fault.to_string()))
                .into()
        }
        // The error already names the file that could not be read, which need not be the file of the model.
        ReadError::File { .. } => Diagnostic::error(error.code(), error.to_string()).into(),
        _ => Diagnostic::error(error.code(), format!("{file}: {error}")).into(),
    }
}

impl From<ArtifactError> for Stop {
    fn from(error: ArtifactError) -> Stop {
        let recognised = match &error {
            ArtifactError::NotAnArtifact { path, .. } => recognise::no_artifact(path),
            _ => None,
        };
        recognised
            .unwrap_or_else(|| Diagnostic::error(error.code(), error.to_string()))
            .into()
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        let found = Diagnostic::error(error.code(), error.to_string());
        match error {
            Error::Container(error) => error.into(),
            Error::Target(error) => registry(&error).into(),
            Error::Compile(error) => error.into(),
            Error::Kernels(layers) => {
                let note = "by the host the artifact is as it should be";
                Diagnostics(layers.into_iter().map(|layer| of_target(layer).note(note)).collect()).into()
            }
            Error::NoLayer { near, .. } => found.help(format!("near it are `{}`", near.join("`, `"))).into(),
            Error::Json { .. } | Error::Sample { .. } => found.into(),
        }
    }
}

impl From<ExecuteError> for Stop {
    /// The finding for a run that failed.
    fn from(error: ExecuteError) -> Stop {
        match (error.defect(), error.code()) {
            (Some(text), _) => Stop::Defect(text.to_owned()),
            (None, codes::TARGET) => of_target(error.to_string()).into(),
            (None, code) if let ExecuteError::Exchange(error) = &error => {
                Diagnostic::error(code, error.to_string()).help(error.help()).into()
            }
            (None, code) => Diagnostic::error(code, format!("the model cannot be run: {error}")).into(),
        }
    }
}

impl From<EvaluateError> for Stop {
    /// Makes the finding for an evaluation that failed.
    fn from(error: EvaluateError) -> Stop {
        let (code, help) = match &error {
            EvaluateError::Defect(text) => return Stop::Defect(text.clone()),
            EvaluateError::NotFinite { help, .. } => (codes::NOT_A_NUMBER, *help),
            EvaluateError::Unfit { help, .. } => (codes::EVALUATION, *help),
            EvaluateError::Printed(_) => (codes::COMMAND, None),
        };
        let mut finding = Diagnostic::error(code, error.to_string());
        finding.help.extend(help.map(str::to_owned));
        finding.into()
    }
}

impl From<CompileError> for Stop {
    /// Makes the finding for an error of the compiler. For [`CompileError::Denied`], code that knows the configuration
    /// can make a better finding, which names the rule.
    fn from(error: CompileError) -> Stop {
        match error {
            CompileError::Interrupted => Stop::Interrupted,
            CompileError::Defect(text) => Stop::Defect(text),
            CompileError::Execute(error) => error.into(),
            CompileError::Excess(found) => excess(&found).into(),
            CompileError::Kernels(layers) => Diagnostics(layers.into_iter().map(of_target).collect()).into(),
            other => Diagnostic::error(other.code(), other.to_string()).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::{Reason, ReasonCode};
    use strait_execute::StepError;

    #[test]
    fn what_is_to_be_said_of_several_nodes_is_said_once() {
        let fault = |(node, operator, text): (&str, &str, &str)| NodeFault {
            node: node.into(),
            operator: operator.into(),
            reason: Reason::new(ReasonCode::Unsupported, text),
        };
        let nodes = [
            ("a", "READ", "no"),
            ("b", "READ", "why"),
            ("c", "READ", "no"),
            ("d", "CALL", "no"),
        ]
        .map(fault);
        let expect = ["`a` and 1 more (READ): no", "`b` (READ): why", "`d` (CALL): no"];
        assert_eq!(alike(&nodes), expect);
    }

    #[test]
    fn the_sample_that_fails_is_named_and_a_defect_stays_one() {
        let failed = |source| {
            let (node, op) = ("gather".into(), "gather");
            execute_sample(ExecuteError::Node { node, op, source }, 3).to_string()
        };
        let text = failed(StepError::Model("an index is outside".into()));
        assert!(text.contains("it is sample 3 that fails"), "{text}");
        let text = failed(StepError::Ours("a step lost its result".into()));
        assert_eq!(text, "defect in Strait: a step lost its result");
    }
}
