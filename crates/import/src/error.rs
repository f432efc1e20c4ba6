//! Errors, and whose fault they are.

use std::path::PathBuf;
use strait_core::{Reason, ReasonCode, codes};
use strait_document::nearest::closest;

/// Number of names that are suggested for an unknown one.
const SUGGESTIONS: usize = 3;

/// A node that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{node}` ({operator}): {}", reason.text)]
pub struct NodeFault {
    /// The node's name, or that of its first result where it has none.
    pub node: String,
    /// The operator as the format names it, with its version where that has one.
    pub operator: String,
    /// The part that does not fit, or, with the code `unsupported`, that is not known.
    pub reason: Reason,
}

/// A dimension of a graph input that has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeDimension {
    /// The input.
    pub input: String,
    /// Which of its axes, from 0.
    pub axis: usize,
    /// The key by which it is bound: its name in the model, or `<input>.<axis>` where it has none.
    pub name: String,
}

/// A file beside the model that its weights are in, and that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{location}` {reason}")]
pub struct DataFault {
    /// The file, as the model names it.
    pub location: String,
    /// Said after the name.
    pub reason: String,
    /// True if a Git LFS pointer stands in its place.
    pub is_pointer: bool,
}

/// Reason why a model could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened, or its data files cannot.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The bytes are not a model of this format. The model's fault.
    #[error("this is not a whole {format} model: {words}")]
    Decode {
        /// Name of the format.
        format: &'static str,
        /// The fault, in the words of the decoder.
        words: String,
    },
    /// Files that the weights are in are absent or are something else. The model is not whole.
    #[error("the model's weights are in other files, which cannot all be read:{}", .0.iter().map(|fault| format!("\n  {fault}")).collect::<String>())]
    DataFiles(Vec<DataFault>),
    /// The file is older or newer than what is read.
    #[error("the model has {what} {found}; {} to {} are read", range.0, range.1)]
    Version {
        /// `IR version` or `operator set`.
        what: &'static str,
        /// The model's.
        found: i64,
        /// The first and the last that are read.
        range: (i64, i64),
    },
    /// The graph contradicts itself. The model's fault.
    #[error("the model is not valid: {0}")]
    Model(Reason),
    /// A node's operands do not fit it. The model's fault, or that of the values bound to its dimensions.
    #[error("node {0}")]
    Node(Box<NodeFault>),
    /// Every operator, and every use of one, that the reader does not know, at once. Ours to add, or the model's to
    /// avoid.
    #[error("{} node(s) of the model cannot be read:{}", .0.len(), list(.0))]
    Unsupported(Vec<NodeFault>),
    /// A node needs a number where an input has a dimension without one. The configuration's to bind.
    #[error("{reason}\n{}", list_free(free))]
    FreeDimensions {
        /// Where the number is needed.
        reason: String,
        /// The inputs' dimensions that have none.
        free: Vec<FreeDimension>,
    },
    /// A name in the options that is not in the model. The configuration's fault.
    #[error("{what} `{name}` is not in the model{}", suggest(nearest))]
    UnknownName {
        /// Purpose of the name.
        what: &'static str,
        /// The name.
        name: String,
        /// The model's names that are most like it.
        nearest: Vec<String>,
    },
    /// The options contradict each other or the model. The configuration's fault.
    #[error("{text}")]
    Options {
        /// The field of [`ReadOptions`](crate::ReadOptions) at fault.
        option: &'static str,
        /// The part that does not fit.
        text: String,
    },
    /// An input or output of a kind that we do not know.
    #[error("`{tensor}`: {reason}")]
    Tensor {
        /// Its name.
        tensor: String,
        /// Reason why it cannot be read.
        reason: String,
    },
}

impl ReadError {
    /// The code by which programs know it.
    pub fn code(&self) -> &'static str {
        match self {
            ReadError::Unsupported(_) => codes::OPERATOR,
            ReadError::FreeDimensions { .. } => codes::FREE_DIMENSION,
            ReadError::UnknownName { .. } | ReadError::Options { .. } => codes::CUT,
            ReadError::DataFiles(_) => codes::DATA_FILES,
            _ => codes::MODEL,
        }
    }

    /// A graph that contradicts itself.
    pub fn model(code: ReasonCode, text: impl Into<String>) -> ReadError {
        ReadError::Model(Reason::new(code, text))
    }

    /// The field of [`ReadOptions`](crate::ReadOptions) that is at fault, where one is.
    pub fn option(&self) -> Option<&'static str> {
        match self {
            ReadError::Options { option, .. } => Some(option),
            ReadError::UnknownName { what: "dimension", .. } => Some("bind"),
            ReadError::UnknownName { what: "input", .. } => Some("inputs"),
            ReadError::UnknownName { .. } => Some("outputs"),
            _ => None,
        }
    }

    /// A name that is none of `names`.
    pub fn unknown<'a>(what: &'static str, name: &str, names: impl Iterator<Item = &'a str>) -> ReadError {
        ReadError::UnknownName {
            what,
            name: name.into(),
            nearest: closest(name, names, SUGGESTIONS).into_iter().map(Into::into).collect(),
        }
    }
}

/// Suggestion behind an unknown name.
fn suggest(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; the nearest names are `{}`", names.join("`, `")),
    }
}

fn list(nodes: &[NodeFault]) -> String {
    nodes.iter().map(|node| format!("\n  {node}")).collect()
}

fn list_free(free: &[FreeDimension]) -> String {
    let lines = free.iter().map(|f| {
        format!(
            "  dimension {} of input `{}` has no value: bind `{}`",
            f.axis, f.input, f.name
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
