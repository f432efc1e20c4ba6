//! The interface between a target and the rest of the compiler.

use crate::candidate::Candidate;
use crate::spec::{Format, ObserverOptions, TargetSpec};
use std::num::NonZeroU32;
use std::ops::Range;
use strait_core::{Attribute, Counts, Elem, Fused, Module, Op, QuantParams, Reason, Term};
use strait_kernels::{KernelError, integer::Loops};
use strait_requantize::Requantization;

/// A target. One that is only a table is a [`TableTarget`](crate::TableTarget); code replaces a method where a table
/// cannot say it.
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
    /// # Errors
    /// [`TargetError::NoForm`] where no form of the table accepts it, [`TargetError::Kernel`] where the kernel refuses.
    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError>;

    /// The same by the target's own model of its arithmetic, where that is not what [`Target::loops`] are: a plugin's in a
    /// library. `compile` holds it against the form at every threshold, and `--kernels target` runs it. `None` for a target
    /// without one, and for a form that it does not compute.
    ///
    /// # Errors
    /// [`TargetError::Plugin`] where the model fails.
    fn own_loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<Box<dyn Loops>>, TargetError> {
        let _ = (form, clamp);
        Ok(None)
    }

    /// True if that model computes such a layer, whose accumulators have 64 bits where they are `wide` and else 32; false if it
    /// leaves the codes to the form. `None` for a target without a model.
    ///
    /// # Errors
    /// As for [`Target::own_loops`].
    fn models(&self, form: &Requantization, clamp: Option<[i32; 2]>, wide: bool) -> Result<Option<bool>, TargetError> {
        let _ = wide;
        Ok(self.own_loops(form, clamp)?.map(|_| true))
    }

    /// Refuses a node that the table admits, or does not: for what a table cannot say. The float graph is asked,
    /// before anything has a grid; what is refused runs on the host.
    ///
    /// # Errors
    /// [`TargetError::Refused`] where it does not, with a reason for the report: [`ReasonCode::TargetCode`](strait_core::ReasonCode)
    /// and a sentence. Any other error stops the compilation.
    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        let _ = node;
        Ok(())
    }

    /// The answers about many nodes at once: for each of them the reason for which it is refused, if it is. By
    /// [`Target::admits`], unless a question is dear.
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
    /// # Errors
    /// [`TargetError::Unsupported`] for a target that has none, and whatever else stops it; the artifact is then not
    /// written.
    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let _ = (module, sink);
        Err(TargetError::Unsupported(format!(
            "the format `{}`, which target `{}` does not have,",
            Format::Package,
            self.spec().id
        )))
    }

    /// The same with all that is known of the compilation: what `compile` calls. By [`Target::emit`], for a target whose
    /// files need no more than the module.
    ///
    /// # Errors
    /// As for [`Target::emit`].
    fn emit_all(&self, emission: &Emission<'_>, sink: &mut dyn Sink) -> Result<(), TargetError> {
        self.emit(emission.module, sink)
    }

    /// True if the vendor's records have a scale of weights for each output of a layer of the model: what a rule takes apart into
    /// several outputs then has one, too.
    fn counts_outputs(&self) -> bool {
        false
    }

    /// The grids that a record of the vendor's own tool states, in place of those that calibration would find.
    ///
    /// # Errors
    /// [`TargetError::Text`] for a text that is no such record, with the place; [`TargetError::Unsupported`] for a target
    /// that reads none.
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
    /// The module of the artifact, in the integer stage. Its main graph is what runs, its first one that from which it was
    /// fused, where there are two.
    pub module: &'a Module,
    /// The name of the model: that of its file, without the ending.
    pub model: &'a str,
    /// The rules whose patterns the float graph has, and how often each matched and applied; in order of their names.
    pub rules: &'a [(&'a str, Counts)],
    /// The observer of the activations of which no rule of the configuration says another.
    pub observer: &'a str,
    /// The ways in which the ranges of what layers compute on were found, by the layers' names, in their order.
    pub observing: &'a [(String, Observing)],
    /// False where no rule takes a layer into another one.
    pub fuses: bool,
    /// The layers that no rule takes into another one, nor others into them.
    pub unfused: &'a [&'a str],
    /// The convolutions that were made of several layers of the model, or have several channels for each of its outputs, by their
    /// names, in their order.
    pub joined: &'a [(String, Joined)],
}

/// The layers that a convolution was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Their names and the numbers of their outputs, in the order of the convolution's channels.
    pub layers: Vec<(String, u64)>,
    /// The number of neighbouring channels that are one output.
    pub each: NonZeroU32,
}

/// The way in which the range of an operand was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observing {
    /// The name of the observer, or `range` where the configuration states the range.
    pub observer: String,
    /// Its settings.
    pub options: ObserverOptions,
}

impl<'a> Emission<'a> {
    /// The emission of a module of which no more is known.
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

    /// The same with the rules whose patterns the float graph has.
    #[must_use]
    pub fn with_rules(self, rules: &'a [(&'a str, Counts)]) -> Emission<'a> {
        Emission { rules, ..self }
    }

    /// The same with another observer.
    #[must_use]
    pub fn with_observer(self, observer: &'a str) -> Emission<'a> {
        Emission { observer, ..self }
    }

    /// The same with the ways in which ranges were found.
    #[must_use]
    pub fn with_observing(self, observing: &'a [(String, Observing)]) -> Emission<'a> {
        Emission { observing, ..self }
    }

    /// The same with what no rule takes into another one: all layers, or these.
    #[must_use]
    pub fn with_fusions(self, fuses: bool, unfused: &'a [&'a str]) -> Emission<'a> {
        Emission { fuses, unfused, ..self }
    }

    /// The same with the convolutions that are not one layer of the model, output by output.
    #[must_use]
    pub fn with_joined(self, joined: &'a [(String, Joined)]) -> Emission<'a> {
        Emission { joined, ..self }
    }

    /// The layers that a convolution was made of, where it is not one, output by output.
    pub fn joined(&self, layer: &str) -> Option<&'a Joined> {
        let found = self.joined.binary_search_by(|(name, _)| name.as_str().cmp(layer));
        found.ok().and_then(|at| self.joined.get(at)).map(|(_, joined)| joined)
    }

    /// The observer of what a layer computes on, and its settings.
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
    /// The position of the operand, as the layer has it: 0 is what it computes on, 1 its weights.
    pub operand: usize,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point; of weights, one or one for each output.
    pub params: QuantParams,
}

/// A place where a fusion row may fire, as plain data.
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
    /// The site of a row, with its producer, the producer's operands, and what its result goes through.
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
    /// The producer computes this behind its accumulators. The op stays: a certificate compares what stands behind
    /// accumulators, and not what makes them.
    Fuse(Fused),
}

/// Where a target's files go. It links no crate of a format: it hands over a graph, and the writer that is registered
/// for the format writes it.
pub trait Sink {
    /// A file with this content. `path` is relative, with forward slashes.
    ///
    /// # Errors
    /// [`TargetError::Sink`] where it cannot be written.
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError>;

    /// Appends to a file, which its first piece makes: a file that comes in pieces need not be in memory as a whole. False of a
    /// sink that takes whole files alone; nothing is written then. Files may be written in turns. What is in pieces is no file
    /// of [`Sink::bytes`].
    ///
    /// # Errors
    /// As for [`Sink::bytes`].
    fn append(&mut self, path: &str, piece: &[u8]) -> Result<bool, TargetError> {
        let _ = (path, piece);
        Ok(false)
    }

    /// A file in `format`, of the main graph of a module in the export stage.
    ///
    /// # Errors
    /// [`TargetError::Unsupported`] for a format without a writer, [`TargetError::Sink`] where it cannot be written.
    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError>;
}

/// Error of a target.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Somebody asked for what the target does not have.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// No form of the table accepts a requantization: the fault of whoever made it.
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
    /// The target's kernel computes something else than its form says: the fault of the target.
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
    /// A text of the vendor's own tool is not as it should be: the fault of whoever wrote it.
    #[error("{message}")]
    Text {
        /// Bytes of the text that are at fault.
        at: Range<usize>,
        /// The fault, in one sentence.
        message: String,
    },
    /// A file that no artifact can have: the fault of the target.
    #[error("target `{target}` emits `{path}`: {fault}")]
    Emitted {
        /// The target's id.
        target: String,
        /// The file.
        path: String,
        /// The rule that it breaks, and what would be right.
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
    /// The model asks for what the target cannot do.
    #[error(transparent)]
    Refused(#[from] Reason),
}
