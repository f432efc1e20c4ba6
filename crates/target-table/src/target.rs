//! The interface between a target and the rest of the compiler.

use crate::candidate::Candidate;
use crate::spec::{Format, ObserverOptions, TargetSpec};
use std::num::NonZeroU32;
use std::ops::Range;
use strait_core::{Attribute, Counts, Elem, Fused, Module, Op, QuantParams, Reason, Term};
use strait_kernels::{KernelError, integer::Loops};
use strait_requantize::Requantization;

/// A target. One that is only a table is a [`TableTarget`](crate::TableTarget). Other targets replace the methods for what
/// their table cannot say.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no target",
    label = "has no table and no kernels",
    note = "a target has `spec`, its table, and `loops`, which computes each form of the table; `TableTarget` is one that is \
            a table and the kernels that a `TargetFactory` names"
)]
pub trait Target: Send + Sync {
    /// Its table, with the overlays of the options that it was made with.
    fn spec(&self) -> &TargetSpec;

    /// The loops of a layer with this requantization and a clamp behind it (both ends are codes and belong to it).
    ///
    /// # Errors [`TargetError::NoForm`] if no form of the table accepts it, [`TargetError::Kernel`] if the kernel refuses.
    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError>;

    /// The loops by the target's own model of its arithmetic, if that is not what [`Target::loops`] returns. A plugin in a
    /// library has such a model. `compile` compares it with the form at every threshold, and `--kernels target` runs it.
    /// `None` for a target without a model, and for a form that the model does not compute.
    ///
    /// # Errors
    /// [`TargetError::Plugin`] where the model fails.
    fn own_loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<Box<dyn Loops>>, TargetError> {
        let _ = (form, clamp);
        Ok(None)
    }

    /// True if the model computes such a layer, with accumulators of 64 bits if they are `wide` and else of 32; false if it
    /// leaves the layer to the form. `None` for a target without a model.
    ///
    /// # Errors
    /// As for [`Target::own_loops`].
    fn models(&self, form: &Requantization, clamp: Option<[i32; 2]>, wide: bool) -> Result<Option<bool>, TargetError> {
        let _ = wide;
        Ok(self.own_loops(form, clamp)?.map(|_| true))
    }

    /// May refuse a node that the table admits, for reasons that a table cannot state. The nodes are those of the float
    /// graph, before anything has a grid. A refused node runs on the host.
    ///
    /// # Errors [`TargetError::Refused`] for a node that is refused, with a reason for the report:
    /// [`ReasonCode::TargetCode`](strait_core::ReasonCode) and a sentence. Any other error stops the compilation.
    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        let _ = node;
        Ok(())
    }

    /// [`Target::admits`] for many nodes at once: for each of them the reason of the refusal, if it is refused. A target
    /// where each call is expensive replaces this method.
    ///
    /// # Errors
    /// As for [`Target::admits`], without a refusal.
    fn refusals(&self, nodes: &[Candidate<'_>]) -> Result<Vec<Option<Reason>>, TargetError> {
        let refusal = |node| match self.admits(node) {
            Ok(()) => Ok(None),
            Err(TargetError::Refused(reason)) => Ok(Some(reason)),
            Err(error) => Err(error),
        };
        nodes.iter().map(refusal).collect()
    }

    /// Decides a fusion whose row has the verb `custom:verb`.
    ///
    /// # Errors
    /// [`TargetError::Unsupported`] for a verb that this target does not have.
    fn custom(&self, verb: &str, site: &FusionSite<'_>) -> Result<Decision, TargetError> {
        let _ = site;
        Err(TargetError::Unsupported(format!("the fusion verb `{verb}`")))
    }

    /// Writes the target's own package: [`Format::Package`]. It is called only where the table's `emit` names it, and
    /// the configuration does not leave it out.
    /// The main graph of the module is what the artifact runs, in the integer stage.
    ///
    /// # Errors [`TargetError::Unsupported`] for a target without a package, and any other error. The artifact is then not
    /// written.
    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let _ = (module, sink);
        Err(TargetError::Unsupported(format!(
            "the format `{}`, which target `{}` does not have,",
            Format::Package,
            self.spec().id
        )))
    }

    /// [`Target::emit`] with everything that is known of the compilation. `compile` calls this one; a target whose files
    /// only need the module does not have to replace it.
    ///
    /// # Errors
    /// As for [`Target::emit`].
    fn emit_all(&self, emission: &Emission<'_>, sink: &mut dyn Sink) -> Result<(), TargetError> {
        self.emit(emission.module, sink)
    }

    /// True if the vendor's records have a scale of weights for each output of a layer of the model. If a rule splits
    /// outputs, each of the new ones has a scale, too.
    fn counts_outputs(&self) -> bool {
        false
    }

    /// The grids that a record of the vendor's own tool states. They replace those of calibration.
    ///
    /// # Errors [`TargetError::Text`] for a text that is not such a record, with the place; [`TargetError::Unsupported`]
    /// for a target that reads no records.
    fn recorded(&self, text: &str) -> Result<Vec<Recorded>, TargetError> {
        let _ = text;
        Err(TargetError::Unsupported(format!(
            "a record of grids, which target `{}` does not read,",
            self.spec().id
        )))
    }
}

/// A compilation whose files are written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Emission<'a> {
    /// The module of the artifact, in the integer stage. Its main graph is what runs. If there are two graphs, the first
    /// one is the graph before fusion.
    pub module: &'a Module,
    /// The name of the model: that of its file, without the ending.
    pub model: &'a str,
    /// The rules whose patterns the float graph contains, with the numbers of matches and of applications, sorted by name.
    pub rules: &'a [(&'a str, Counts)],
    /// The observer of activations, where no rule of the configuration names another one.
    pub observer: &'a str,
    /// For each layer, by name and in order, how the range of its input was found.
    pub observing: &'a [(String, Observing)],
    /// False if no rule merges a layer into another one.
    pub fuses: bool,
    /// The layers that no rule merges into another one, and into which no rule merges others.
    pub unfused: &'a [&'a str],
    /// The convolutions that were made of several layers of the model, or that have several channels for each output of a
    /// layer, by name and in order.
    pub joined: &'a [(String, Joined)],
}

/// The layers that a convolution was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Their names and the numbers of their outputs, in the order of the convolution's channels.
    pub layers: Vec<(String, u64)>,
    /// The number of neighbouring channels that make one output.
    pub each: NonZeroU32,
}

/// The way in which the range of an operand was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observing {
    /// The name of the observer, or `range` if the configuration states the range.
    pub observer: String,
    /// Its settings.
    pub options: ObserverOptions,
}

impl<'a> Emission<'a> {
    /// An emission of which only the module is known.
    pub fn new(module: &'a Module, model: &'a str) -> Emission<'a> {
        Emission {
            module,
            model,
            rules: &[],
            observer: "minmax",
            observing: &[],
            fuses: true,
            unfused: &[],
            joined: &[],
        }
    }

    /// Adds the rules whose patterns the float graph contains.
    #[must_use]
    pub fn with_rules(self, rules: &'a [(&'a str, Counts)]) -> Emission<'a> {
        Emission { rules, ..self }
    }

    /// Sets the observer.
    #[must_use]
    pub fn with_observer(self, observer: &'a str) -> Emission<'a> {
        Emission { observer, ..self }
    }

    /// Adds how ranges were found.
    #[must_use]
    pub fn with_observing(self, observing: &'a [(String, Observing)]) -> Emission<'a> {
        Emission { observing, ..self }
    }

    /// Sets the layers that no rule merges: all layers, or these.
    #[must_use]
    pub fn with_fusions(self, fuses: bool, unfused: &'a [&'a str]) -> Emission<'a> {
        Emission { fuses, unfused, ..self }
    }

    /// Adds the convolutions whose channels are not the outputs of one layer of the model.
    #[must_use]
    pub fn with_joined(self, joined: &'a [(String, Joined)]) -> Emission<'a> {
        Emission { joined, ..self }
    }

    /// The layers that a convolution was made of, if its channels are not the outputs of one layer.
    pub fn joined(&self, layer: &str) -> Option<&'a Joined> {
        let found = self.joined.binary_search_by(|(name, _)| name.as_str().cmp(layer));
        found.ok().and_then(|at| self.joined.get(at)).map(|(_, joined)| joined)
    }

    /// The observer of the input of a layer, and its settings.
    pub fn observing(&self, layer: &str) -> (&'a str, ObserverOptions) {
        let found = self.observing.binary_search_by(|(name, _)| name.as_str().cmp(layer));
        let found = found.ok().and_then(|at| self.observing.get(at));
        found.map_or((self.observer, ObserverOptions::default()), |(_, found)| {
            (found.observer.as_str(), found.options.clone())
        })
    }
}

/// A grid that a record states for an operand of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The source name of the layer.
    pub layer: String,
    /// Bytes of the text that name the layer.
    pub at: Range<usize>,
    /// The position of the operand in the layer: 0 is the input, 1 are the weights.
    pub operand: usize,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point. Weights have one for the tensor, or one for each output.
    pub params: QuantParams,
}

/// A match of a fusion row in the graph, as plain data.
#[derive(Clone, Copy, Debug)]
pub struct FusionSite<'a> {
    /// The row's name.
    pub row: &'a str,
    op: &'a Op,
    /// Element type and grid of each of its operands; `None` for a grid that an operand does not have.
    pub operands: &'a [(Elem, Option<&'a QuantParams>)],
    /// Requantization of its result.
    pub requant: &'a Requantization,
}

impl<'a> FusionSite<'a> {
    /// The match of a row: the producer, the producer's operands, and the steps behind its result.
    pub fn new(
        row: &'a str,
        op: &'a Op,
        operands: &'a [(Elem, Option<&'a QuantParams>)],
        requant: &'a Requantization,
    ) -> FusionSite<'a> {
        FusionSite {
            row,
            op,
            operands,
            requant,
        }
    }

    /// The producer's term. The set of terms grows with Strait, so a target's code has an answer for those that it does
    /// not know.
    pub fn term(&self) -> Term {
        self.op.term()
    }

    /// An attribute of the producer, by its name in the text form; `None` where it has none of this name.
    pub fn attribute(&self, key: &str) -> Option<Attribute> {
        self.op.attribute(key)
    }
}

/// The answer to [`Target::custom`].
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It stays as it is.
    Refuse(Reason),
    /// The producer computes this behind its accumulators. Its op does not change: a certificate compares the steps behind
    /// the accumulators only.
    Fuse(Fused),
}

/// The destination of a target's files. It depends on no crate of a format: a graph is handed over to the writer that is
/// registered for the format.
pub trait Sink {
    /// A file with this content. `path` is relative, with forward slashes.
    ///
    /// # Errors [`TargetError::Sink`] if it cannot be written.
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError>;

    /// Appends to a file, so that it never has to be in memory as a whole. The first piece creates the file. Returns false,
    /// and writes nothing, if the sink only takes whole files. Pieces of several files may alternate. A file that is
    /// written in pieces must not be written by [`Sink::bytes`], too.
    ///
    /// # Errors
    /// As for [`Sink::bytes`].
    fn append(&mut self, path: &str, piece: &[u8]) -> Result<bool, TargetError> {
        let _ = (path, piece);
        Ok(false)
    }

    /// A file in `format`, of the main graph of a module in the export stage.
    ///
    /// # Errors [`TargetError::Unsupported`] for a format without a writer, [`TargetError::Sink`] if it cannot be written.
    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError>;
}

/// Error of a target.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The caller asked for a feature that the target does not have.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// No form of the table accepts a requantization: the fault of the code that made the requantization.
    #[error("no form of target `{target}` computes this {kind}: {reasons}")]
    NoForm {
        /// The target's id.
        target: String,
        /// The requantization's kind.
        kind: &'static str,
        /// Reason of each form's refusal.
        reasons: String,
    },
    /// The target's kernel refuses a requantization that its table accepts: the fault of the target.
    #[error("form `{form}` of target `{target}`: {error}")]
    Kernel {
        /// The target's id.
        target: String,
        /// The form's name.
        form: String,
        /// Error of the kernel.
        error: KernelError,
    },
    /// The target's kernel computes another result than its form: the fault of the target.
    #[error(
        "form `{form}` of target `{target}`: its kernel makes {found} of the accumulator {accumulator} in channel {channel}; \
         by its definition it is {expected}"
    )]
    Wrong {
        /// The target's id.
        target: String,
        /// The form's name.
        form: String,
        /// The channel of the form's parameters.
        channel: usize,
        /// The accumulator.
        accumulator: i64,
        /// The code by the form's definition.
        expected: i32,
        /// The code that the kernel computes.
        found: i32,
    },
    /// A plugin in a library failed, or its process did: the fault of the target.
    #[error("target `{target}`: {message}")]
    Plugin {
        /// The target's id.
        target: String,
        /// Plugin, call and error.
        message: String,
    },
    /// The target's code panicked: the fault of the target.
    #[error("target `{target}`: {what} panicked: {message}")]
    Panicked {
        /// The target's id.
        target: String,
        /// Which code.
        what: String,
        /// The message of the panic.
        message: String,
    },
    /// A text of the vendor's own tool has an error: the fault of its author.
    #[error("{message}")]
    Text {
        /// Bytes of the text that are at fault.
        at: Range<usize>,
        /// The fault, in one sentence.
        message: String,
    },
    /// A file that is not allowed in an artifact: the fault of the target.
    #[error("target `{target}` emits `{path}`: {fault}")]
    Emitted {
        /// The target's id.
        target: String,
        /// The file.
        path: String,
        /// The rule that it breaks, and how it would be right.
        fault: String,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {message}")]
    Sink {
        /// The file.
        path: String,
        /// Reason of the refusal.
        message: String,
    },
    /// The model needs something that the target cannot do.
    #[error(transparent)]
    Refused(#[from] Reason),
}
