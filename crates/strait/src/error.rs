//! The one error of this crate.

use strait_container::ArtifactError;
use strait_core::{TensorError, codes};
use strait_execute::{Excess, ExecuteError, StepError};
use strait_kernels::KernelError;

/// In the place of the code of a defect.
const DEFECT: &str = "defect";

/// A tensor, or a call, that does not fit.
const CALL: &str = "call";

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The model's.
    Model,
    /// The samples'.
    Samples,
    /// The rules': they ask for what cannot be, or name what is not there.
    Rules,
    /// The target's table or code.
    Target,
    /// The artifact's: it is damaged, or none.
    Artifact,
    /// The caller's: tensors that do not fit, or a thing that this value cannot do.
    Call,
    /// The system refuses: a file that is not there, missing rights, a full disk.
    System,
    /// A run takes more memory or operations than it may.
    Limit,
    /// Nobody's: whoever watches has asked to stop.
    Interrupted,
    /// Ours.
    Defect,
}

/// An error: a sentence, whose fault it is, and the layer where one is concerned.
///
/// ```
/// # #[cfg(feature = "onnx")] {
/// use strait::{Fault, Model};
///
/// let error = Model::from_bytes(&b"no model"[..]).unwrap_err();
/// assert_eq!((error.fault(), error.code()), (Fault::Model, "M001"));
/// println!("{error}{}", error.hint().map(|hint| format!("; {hint}")).unwrap_or_default());
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    fault: Fault,
    code: &'static str,
    message: String,
    help: Option<String>,
    layer: Option<String>,
}

impl Error {
    pub(crate) fn new(fault: Fault, code: &'static str, message: impl ToString) -> Error {
        Error {
            fault,
            code,
            message: message.to_string(),
            help: None,
            layer: None,
        }
    }

    /// An error of a call of this crate.
    pub(crate) fn call(message: impl ToString) -> Error {
        Error::new(Fault::Call, CALL, message)
    }

    /// A promise of ours that does not hold.
    pub(crate) fn defect(error: impl ToString) -> Error {
        let message = format!("defect in Strait: {}", error.to_string());
        Error::new(Fault::Defect, DEFECT, message)
    }

    #[cfg(feature = "compile")]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn at(mut self, layer: impl Into<String>) -> Error {
        self.layer = Some(layer.into());
        self
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// The code by which programs know it: a letter and three digits, as the command line has them, or `call`, `defect` or `interrupted`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// One sentence or a few.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A way out, where one is known.
    pub fn hint(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The layer of the model that it is about, by its name in the model.
    pub fn layer(&self) -> Option<&str> {
        self.layer.as_deref()
    }
}

impl From<TensorError> for Error {
    fn from(error: TensorError) -> Error {
        Error::call(error)
    }
}

impl From<ExecuteError> for Error {
    fn from(error: ExecuteError) -> Error {
        match &error {
            ExecuteError::Ours(text) => Error::defect(text),
            ExecuteError::Node { node, source, .. } => match source {
                StepError::Ours(text) => Error::defect(text).at(node),
                StepError::Target(_) | StepError::Kernel(KernelError::Tile(_)) => {
                    Error::new(Fault::Target, codes::TARGET, &error).at(node)
                }
                _ => Error::new(Fault::Model, codes::RUN, &error).at(node),
            },
            ExecuteError::Input { .. } | ExecuteError::InputCount { .. } => Error::call(error),
            _ => Error::new(Fault::Model, codes::RUN, error),
        }
    }
}

impl From<Box<Excess>> for Error {
    fn from(excess: Box<Excess>) -> Error {
        let code = match *excess {
            Excess::Memory { .. } => codes::MEMORY,
            Excess::Work { .. } => codes::WORK,
        };
        let layer = excess.layer().to_owned();
        Error::new(Fault::Limit, code, excess).at(layer)
    }
}

impl From<ArtifactError> for Error {
    fn from(error: ArtifactError) -> Error {
        let code = match &error {
            ArtifactError::Damaged { .. } | ArtifactError::Model { .. } | ArtifactError::NoSuchFile { .. } => {
                codes::DAMAGED
            }
            _ => codes::ARTIFACT,
        };
        let fault = match &error {
            ArtifactError::Io { .. } => Fault::System,
            ArtifactError::Occupied { .. } => Fault::Call,
            _ => Fault::Artifact,
        };
        Error::new(fault, code, error)
    }
}

#[cfg(feature = "compile")]
mod compile {
    use strait_compile::{CompileError, rules::RuleErrors};
    use strait_core::codes;
    use strait_execute::ExecuteError;
    use strait_import::ReadError;
    use strait_quantize::ObserveError;
    use strait_target::RegistryError;

    use super::{Error, Fault};

    /// There are no samples.
    const COUNT: &str = "D006";

    /// A sample has another shape, or another number of tensors, than the model takes.
    const SHAPE: &str = "D005";

    /// A sample cannot be used.
    const UNUSABLE: &str = "D008";

    impl From<CompileError> for Error {
        fn from(error: CompileError) -> Error {
            let text = error.to_string();
            match error {
                CompileError::Interrupted => Error::new(Fault::Interrupted, "interrupted", text),
                CompileError::Model(_) => Error::new(Fault::Model, codes::MODEL, text),
                CompileError::Denied(denied) => {
                    let found = Error::new(Fault::Rules, codes::UNSUPPORTED, text);
                    match denied.into_iter().next() {
                        Some(first) => found.at(first.name),
                        None => found,
                    }
                }
                CompileError::Excess(excess) => excess.into(),
                CompileError::Execute(error) => error.into(),
                CompileError::Observe(ObserveError::NoSamples) => Error::new(Fault::Samples, COUNT, text),
                CompileError::Observe(ObserveError::Run { index, source }) => {
                    let is_sample = matches!(source, ExecuteError::Input { .. } | ExecuteError::InputCount { .. });
                    let found = Error::from(source);
                    Error {
                        fault: if is_sample { Fault::Samples } else { found.fault },
                        code: if is_sample { SHAPE } else { found.code },
                        message: format!("calibration sample {index}: {}", found.message),
                        ..found
                    }
                }
                CompileError::Observe(_) | CompileError::Sample { .. } => Error::new(Fault::Samples, UNUSABLE, text),
                CompileError::Target(_) | CompileError::Kernels(_) => Error::new(Fault::Target, codes::TARGET, text),
                CompileError::OwnModel(error) => Error::new(Fault::Target, codes::TARGET, text).at(error.layer),
                CompileError::Defect(text) => Error::defect(text),
            }
        }
    }

    impl From<RuleErrors> for Error {
        fn from(errors: RuleErrors) -> Error {
            let first = errors.0.first();
            let help = first.map(|first| first.help.join("; ")).filter(|help| !help.is_empty());
            Error {
                help,
                ..Error::new(Fault::Rules, first.map_or(codes::RULE, |first| first.code), &errors)
            }
        }
    }

    impl From<ReadError> for Error {
        fn from(error: ReadError) -> Error {
            let code = match &error {
                ReadError::Unsupported(_) => codes::OPERATOR,
                ReadError::FreeDimensions { .. } => codes::FREE_DIMENSION,
                ReadError::UnknownName { .. } | ReadError::Options { .. } => codes::CUT,
                ReadError::DataFiles(_) => codes::DATA_FILES,
                _ => codes::MODEL,
            };
            let layer = match &error {
                ReadError::Node(fault) => Some(fault.node.clone()),
                ReadError::Unsupported(faults) => faults.first().map(|fault| fault.node.clone()),
                _ => None,
            };
            let fault = match (code, &error) {
                (codes::CUT | codes::FREE_DIMENSION, _) => Fault::Call,
                (_, ReadError::File { .. }) => Fault::System,
                _ => Fault::Model,
            };
            let found = Error::new(fault, code, error);
            match layer {
                Some(layer) => found.at(layer),
                None => found,
            }
        }
    }

    impl From<RegistryError> for Error {
        fn from(error: RegistryError) -> Error {
            Error::new(Fault::Target, codes::TARGET, error)
        }
    }
}
