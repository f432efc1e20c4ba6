//! What other crates report, as findings: whose fault it is decides between a finding and a defect of ours.

use std::path::Path;

use strait_container::ArtifactError;
use strait_execute::{ExecuteError, StepError};
use strait_onnx::{FreeDimension, OnnxError};

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    stop::Stop,
};

/// The codes of what can go wrong behind the configuration and the data. They are stable: programs act on them.
pub mod codes {
    /// The model cannot be read.
    pub const MODEL: &str = "M001";
    /// The model's file is not the one that the configuration names by its digest.
    pub const DIGEST: &str = "M002";
    /// A dimension of the model has no size.
    pub const FREE_DIMENSION: &str = "M003";
    /// The model has operators that are not known.
    pub const OPERATOR: &str = "M004";
    /// The model cannot be run.
    pub const RUN: &str = "M005";
    /// The model cannot be cut where the configuration says.
    pub const CUT: &str = "M006";
    /// A rule of the configuration matches nothing, or asks for what cannot be.
    pub const RULE: &str = "Q001";
    /// The target is not registered, or its table, kernels or options are wrong.
    pub const TARGET: &str = "T001";
    /// The target cannot do what is asked of it.
    pub const UNSUPPORTED: &str = "T002";
    /// A fusion was refused, and the configuration makes that an error.
    pub const FUSION: &str = "T003";
    /// The artifact cannot be read or written.
    pub const ARTIFACT: &str = "A001";
    /// The evaluation is not possible.
    pub const EVALUATION: &str = "E001";
    /// A file cannot be written.
    pub const OUTPUT: &str = "A002";
    /// The artifact is damaged: a file of it is missing, or is not what it was when the artifact was made.
    pub const DAMAGED: &str = "A003";
}

/// A run that failed.
pub fn execute(error: ExecuteError) -> Stop {
    match &error {
        ExecuteError::Ours(text)
        | ExecuteError::Node {
            source: StepError::Ours(text),
            ..
        } => Stop::Defect(text.clone()),
        _ => Diagnostic::error(codes::RUN, format!("the model cannot be run: {error}")).into(),
    }
}

/// An artifact that cannot be read: because it is damaged, or because it is none, or one of another version.
pub fn reading(error: ArtifactError) -> Stop {
    let code = match &error {
        // A manifest of this version speaks of files that this version reads.
        ArtifactError::Damaged { .. } | ArtifactError::Model { .. } | ArtifactError::NoSuchFile { .. } => {
            codes::DAMAGED
        }
        _ => codes::ARTIFACT,
    };
    Diagnostic::error(code, error.to_string()).into()
}

/// An artifact that cannot be written.
pub fn writing(error: ArtifactError) -> Stop {
    Diagnostic::error(codes::ARTIFACT, error.to_string()).into()
}

/// A dimension without a size: which, and the key that gives it one.
pub fn free_dimension(free: &FreeDimension) -> Diagnostic {
    let message = format!(
        "dimension {} of the input {:?}, `{}`, has no size",
        free.axis, free.input, free.name
    );
    let key = if is_bare(&free.name) {
        free.name.clone()
    } else {
        format!("{:?}", free.name)
    };
    Diagnostic::error(codes::FREE_DIMENSION, message).help(format!(
        "give it one: `bind = {{ {key} = 1 }}` in [model], or `--set model.bind.{key}=1`"
    ))
}

/// Whether TOML takes a key without quotes.
fn is_bare(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The same, as an end of the work.
pub fn onnx(error: &OnnxError, file: &Path) -> Stop {
    onnx_findings(error, file).into()
}

/// A model that cannot be read.
pub fn onnx_findings(error: &OnnxError, file: &Path) -> Diagnostics {
    let file = file.display();
    match error {
        OnnxError::Unsupported(nodes) => {
            let message = format!("{} of the layers of {file} cannot be read", nodes.len());
            let finding = Diagnostic::error(codes::OPERATOR, message);
            nodes
                .iter()
                .fold(finding, |finding, node| finding.note(node.to_string()))
                .into()
        }
        OnnxError::FreeDimensions { reason, free } => {
            let mut findings: Vec<Diagnostic> = free.iter().map(free_dimension).collect();
            if let Some(first) = findings.first_mut() {
                first.notes.push(reason.clone());
            }
            Diagnostics(findings)
        }
        OnnxError::UnknownName { .. } | OnnxError::Options(_) => {
            Diagnostic::error(codes::CUT, error.to_string()).into()
        }
        // It names the file already, which may be one beside the model.
        OnnxError::File { .. } => Diagnostic::error(codes::MODEL, error.to_string()).into(),
        _ => Diagnostic::error(codes::MODEL, format!("{file}: {error}")).into(),
    }
}
