//! The error type of this crate.

use strait_container::ArtifactError;
use strait_core::{TensorError, codes};
use strait_execute::{Excess, ExecuteError};

/// The code of an error that only a bug in Strait can cause.
const DEFECT: &str = "defect";

/// The code of errors whose cause is a wrong call, or a wrong tensor in a call.
const CALL: &str = "call";

/// Who or what is at fault for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The model.
    Model,
    /// The samples.
    Samples,
    /// The rules, which ask for something impossible or name something that does not exist.
    Rules,
    /// The target's table or code.
    Target,
    /// The artifact, which is damaged or does not exist.
    Artifact,
    /// The caller: tensors do not fit the model, or the method cannot be called on this value.
    Call,
    /// The operating system refuses: a file does not exist, rights are missing, or a disk is full.
    System,
    /// A run needs more memory or operations than the limits allow.
    Limit,
    /// Nobody. The program asked the work to stop.
    Interrupted,
    /// This library has a bug.
    Defect,
}

/// An error. It has a message, states who or what is at fault, and names the layer that it is about, if any.
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

    /// Makes the error for a wrong call to this crate.
    pub(crate) fn call(message: impl ToString) -> Error {
        Error::new(Fault::Call, CALL, message)
    }

    /// Makes an error that only a bug in Strait can cause.
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

    /// Who or what is at fault.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// The stable code by which programs recognize the error. It is a letter and three digits, as on the command line,
    /// or `call`, `defect` or `interrupted`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What went wrong, in one or a few sentences.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Advice on what to do, if there is any.
    pub fn hint(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Name of the model's layer that the error is about, if there is one.
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
        let found = match (error.defect(), &error) {
            (Some(text), _) => Error::defect(text),
            (None, ExecuteError::Input { .. } | ExecuteError::InputCount { .. }) => Error::call(&error),
            (None, _) => {
                let fault = match error.code() {
                    codes::TARGET => Fault::Target,
                    codes::EXCHANGE => Fault::System,
                    _ => Fault::Model,
                };
                Error::new(fault, error.code(), &error)
            }
        };
        match error {
            ExecuteError::Node { node, .. } => found.at(node),
            _ => found,
        }
    }
}

impl From<Box<Excess>> for Error {
    fn from(excess: Box<Excess>) -> Error {
        Error::new(Fault::Limit, excess.code(), &excess).at(excess.layer())
    }
}

impl From<ArtifactError> for Error {
    fn from(error: ArtifactError) -> Error {
        let fault = match &error {
            ArtifactError::Io { .. } => Fault::System,
            ArtifactError::Occupied { .. } => Fault::Call,
            _ => Fault::Artifact,
        };
        Error::new(fault, error.code(), error)
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

    impl From<CompileError> for Error {
        fn from(error: CompileError) -> Error {
            let (text, code) = (error.to_string(), error.code());
            match error {
                CompileError::Interrupted => Error::new(Fault::Interrupted, code, text),
                CompileError::Model(_) => Error::new(Fault::Model, code, text),
                CompileError::Denied(denied) => {
                    let found = Error::new(Fault::Rules, code, text);
                    match denied.into_iter().next() {
                        Some(first) => found.at(first.name),
                        None => found,
                    }
                }
                CompileError::Excess(excess) => excess.into(),
                CompileError::Execute(error) => error.into(),
                CompileError::Observe(ObserveError::Run { index, source }) => {
                    let is_sample = matches!(source, ExecuteError::Input { .. } | ExecuteError::InputCount { .. });
                    let found = Error::from(source);
                    Error {
                        fault: if is_sample { Fault::Samples } else { found.fault },
                        code: if is_sample { code } else { found.code },
                        message: format!("calibration sample {index}: {}", found.message),
                        ..found
                    }
                }
                CompileError::Observe(_) | CompileError::Sample { .. } => Error::new(Fault::Samples, code, text),
                CompileError::Target(_) | CompileError::Kernels(_) => Error::new(Fault::Target, code, text),
                CompileError::OwnModel(error) => Error::new(Fault::Target, code, text).at(error.layer),
                CompileError::File(_) => Error::new(Fault::System, code, text),
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
            let layer = match &error {
                ReadError::Node(fault) => Some(fault.node.clone()),
                ReadError::Unsupported(faults) => faults.first().map(|fault| fault.node.clone()),
                _ => None,
            };
            let fault = match (error.code(), &error) {
                (codes::CUT | codes::FREE_DIMENSION, _) => Fault::Call,
                (_, ReadError::File { .. }) => Fault::System,
                _ => Fault::Model,
            };
            let found = Error::new(fault, error.code(), error);
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

    impl From<strait_artifact::Error> for Error {
        fn from(error: strait_artifact::Error) -> Error {
            use strait_artifact::Error as Of;
            let (text, code) = (error.to_string(), error.code());
            match error {
                Of::Container(error) => error.into(),
                Of::Target(error) => error.into(),
                Of::Compile(error) => error.into(),
                Of::Json { .. } => Error::new(Fault::Artifact, code, text),
                Of::Kernels(_) => Error::new(Fault::Target, code, text),
                Of::Sample { .. } => Error::new(Fault::Samples, code, text),
                Of::NoLayer { .. } => Error::new(Fault::Call, code, text),
            }
        }
    }
}
