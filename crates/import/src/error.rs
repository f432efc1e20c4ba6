//! Errors of reading a model. Each error says whose fault it is.

use std::path::PathBuf;
use strait_core::{Reason, ReasonCode, codes};
use strait_document::nearest::closest;

/// How many similar names are suggested for a name that is not known.
const SUGGESTIONS: usize = 3;

/// The largest number of characters of a decoder's message.
const LONGEST_MESSAGE: usize = 300;

/// A node that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{node}` ({operator}): {}", reason.text)]
pub struct NodeFault {
    /// The name of the node. If the node has no name, it is the name of its first result.
    pub node: String,
    /// The operator as the format names it. The name includes the version, if operators of the format have versions.
    pub operator: String,
    /// What does not fit the node or, if the code is `unsupported`, what we do not support.
    pub reason: Reason,
}

/// A dimension of a graph input that has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeDimension {
    /// The name of the input.
    pub input: String,
    /// The axis of the input, counted from 0.
    pub axis: usize,
    /// The key by which a value is bound to the dimension: the dimension's name in the model, or `<input>.<axis>` if it
    /// has no name.
    pub name: String,
}

/// A data file with weights of the model that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{location}` {reason}")]
pub struct DataFault {
    /// The path of the file as the model states it.
    pub location: String,
    /// Why the file cannot be read. In the message, this text follows the file's name.
    pub reason: String,
    /// True if a Git LFS pointer is stored instead of the file.
    pub is_pointer: bool,
}

/// Why a model could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file of the model or one of its data files cannot be opened.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The bytes are not a model of this format. This is the model's fault.
    #[error("this is not a whole {format} model: {words}")]
    Decode {
        /// The name of the format.
        format: &'static str,
        /// What is wrong, in the words of the decoder.
        words: String,
    },
    /// Data files with weights are missing or have the wrong content. The model is incomplete.
    #[error("the model's weights are in other files, which cannot all be read:{}", .0.iter().map(|fault| format!("\n  {fault}")).collect::<String>())]
    DataFiles(Vec<DataFault>),
    /// The file has a version that is older or newer than the versions that are read.
    #[error("the model has {what} {found}; {} to {} are read", range.0, range.1)]
    Version {
        /// What has this version: `IR version` or `operator set`.
        what: &'static str,
        /// The version of the model.
        found: i64,
        /// The first and the last version that are read.
        range: (i64, i64),
    },
    /// The graph contradicts itself. This is the model's fault.
    #[error("the model is not valid: {0}")]
    Model(Reason),
    /// The operands of a node do not fit the node. This is the fault of the model, or of the values that are bound to
    /// dimensions.
    #[error("node {0}")]
    Node(Box<NodeFault>),
    /// All operators, and uses of operators, that the reader does not support. Either Strait has to support them, or
    /// the model has to avoid them.
    #[error("{} node(s) of the model cannot be read:{}", .0.len(), list(.0))]
    Unsupported(Vec<NodeFault>),
    /// A node needs a number that depends on a dimension of an input, and this dimension has no value. The
    /// configuration has to bind a value to it.
    #[error("{reason}\n{}", list_free(free))]
    FreeDimensions {
        /// Which number is needed, and where.
        reason: String,
        /// The dimensions of inputs without a number.
        free: Vec<FreeDimension>,
    },
    /// The options have a name that is not in the model. This is the configuration's fault.
    #[error("{what} `{name}` is not in the model{}", suggest(nearest))]
    UnknownName {
        /// The kind of thing that the name should be a name of, for example a tensor.
        what: &'static str,
        /// The name that is not in the model.
        name: String,
        /// The most similar names in the model.
        nearest: Vec<String>,
    },
    /// The options contradict each other or the model. This is the configuration's fault.
    #[error("{text}")]
    Options {
        /// The field of [`ReadOptions`](crate::ReadOptions) that is wrong.
        option: &'static str,
        /// Why the option does not fit.
        text: String,
    },
    /// An input or output has a type or shape that we do not support.
    #[error("`{tensor}`: {reason}")]
    Tensor {
        /// The name of the input or output.
        tensor: String,
        /// Why the input or output cannot be read.
        reason: String,
    },
}

impl ReadError {
    /// The error code, from which programs can tell what kind of error it is.
    pub fn code(&self) -> &'static str {
        match self {
            ReadError::Unsupported(_) => codes::OPERATOR,
            ReadError::FreeDimensions { .. } => codes::FREE_DIMENSION,
            ReadError::UnknownName { .. } | ReadError::Options { .. } => codes::CUT,
            ReadError::DataFiles(_) => codes::DATA_FILES,
            _ => codes::MODEL,
        }
    }

    /// The error of bytes that are not a model of a format. A long message of a decoder is cut off.
    pub fn undecoded(format: &'static str, words: &str) -> ReadError {
        ReadError::Decode {
            format,
            words: words.chars().take(LONGEST_MESSAGE).collect(),
        }
    }

    /// The error for a graph that contradicts itself.
    pub fn model(code: ReasonCode, text: impl Into<String>) -> ReadError {
        ReadError::Model(Reason::new(code, text))
    }

    /// The field of [`ReadOptions`](crate::ReadOptions) that is wrong, if the error is about an option.
    pub fn option(&self) -> Option<&'static str> {
        match self {
            ReadError::Options { option, .. } => Some(option),
            ReadError::UnknownName { what: "dimension", .. } => Some("bind"),
            ReadError::UnknownName { what: "input", .. } => Some("inputs"),
            ReadError::UnknownName { .. } => Some("outputs"),
            _ => None,
        }
    }

    /// The error for a name that is not among `names`, with the most similar ones as suggestions.
    pub fn unknown<'a>(what: &'static str, name: &str, names: impl Iterator<Item = &'a str>) -> ReadError {
        ReadError::UnknownName {
            what,
            name: name.into(),
            nearest: closest(name, names, SUGGESTIONS).into_iter().map(Into::into).collect(),
        }
    }
}

/// The text with suggestions that is appended to the error for an unknown name.
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
