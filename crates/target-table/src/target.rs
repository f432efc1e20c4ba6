//! The interface between a target and the rest of the compiler.

use crate::candidate::Candidate;
use crate::spec::{Format, ObserverOptions, TargetSpec};
use std::num::NonZeroU32;
use std::ops::Range;
use strait_core::{Attribute, Counts, Elem, Fused, Module, Op, QuantParams, Reason, Term};
use strait_kernels::{KernelError, integer::Loops};
use strait_requantize::Requantization;

/// A target. A target that is only a table is a [`TableTarget`](crate::TableTarget). Other targets override the methods
/// for what their table cannot express.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no target",
    label = "has no table and no kernels",
    note = "a target has `spec`, its table, and `loops`, which computes each form of the table; `TableTarget` is one that is \
            a table and the kernels that a `TargetFactory` names"
)]
pub trait Target: Send + Sync {
    /// The target's table, with the overlays of the options with which the target was made.
    fn spec(&self) -> &TargetSpec;

    /// Prepares the loops of a layer with this requantization and a clamp after it. `clamp` has the smallest and the
    /// largest code that the clamp lets through.
    ///
    /// # Errors
    /// [`TargetError::NoForm`] if no form of the table accepts the requantization, [`TargetError::Kernel`] if the
    /// kernel refuses it.
    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError>;

    /// Prepares the loops of the target's own model of its arithmetic, if the target has a model that [`Target::loops`]
    /// does not use. A plugin in a library can have such a model. `compile` compares the model with the form at every
    /// accumulator where the form's code changes, and `--kernels target` runs the model. Returns `None` if the target
    /// has no model, or if the model does not compute the form.
    ///
    /// # Errors
    /// [`TargetError::Plugin`] where the model fails.
    fn own_loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<Box<dyn Loops>>, TargetError> {
        let _ = (form, clamp);
        Ok(None)
    }

    /// Says whether the target's own model computes this form. `wide` says whether the accumulators have 64 bits or 32
    /// bits. Returns false if the model leaves the form to the host, and `None` if the target has no model.
    ///
    /// # Errors
    /// As for [`Target::own_loops`].
    fn models(&self, form: &Requantization, clamp: Option<[i32; 2]>, wide: bool) -> Result<Option<bool>, TargetError> {
        let _ = wide;
        Ok(self.own_loops(form, clamp)?.map(|_| true))
    }

    /// Decides about a node that is within the limits of the table. A target may refuse the node for reasons that a
    /// table cannot express. The node is one of the float graph, before anything is quantized. A refused node runs on
    /// the host.
    ///
    /// # Errors
    /// [`TargetError::Refused`] for a node that is refused, with a reason for the report:
    /// [`ReasonCode::TargetCode`](strait_core::ReasonCode) and a sentence. Any other error stops the compilation.
    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        let _ = node;
        Ok(())
    }

    /// [`Target::admits`] for many nodes at once. For each node, the result is the reason if the node is refused. A
    /// target for which each call is expensive overrides this method.
    ///
    /// # Errors
    /// As for [`Target::admits`], except that a refusal is not an error.
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

    /// Writes the target's own package ([`Format::Package`]). This is only called if the table's `emit` names the
    /// package and the configuration does not exclude it. The main graph of the module is the graph that the artifact
    /// runs, in the integer stage.
    ///
    /// # Errors
    /// [`TargetError::Unsupported`] for a target without a package; any other error if the package cannot be written.
    /// After an error, the artifact is not written.
    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let _ = (module, sink);
        Err(TargetError::Unsupported(format!(
            "the format `{}`, which target `{}` does not have,",
            Format::Package,
            self.spec().id
        )))
    }

    /// [`Target::emit`] with everything that is known about the compilation. `compile` calls this method. A target
    /// whose files only depend on the module need not override it.
    ///
    /// # Errors
    /// As for [`Target::emit`].
    fn emit_all(&self, emission: &Emission<'_>, sink: &mut dyn Sink) -> Result<(), TargetError> {
        self.emit(emission.module, sink)
    }

    /// True if the vendor's records state one weight scale for each output channel of a layer in the source model. A
    /// rewrite rule may have turned such a channel into several channels, which then share this scale.
    fn counts_outputs(&self) -> bool {
        false
    }

    /// Reads the scales and zero points from a record that the vendor's own tool has written. They replace the scales
    /// and zero points from the calibration.
    ///
    /// # Errors
    /// [`TargetError::Text`] for a text that is not such a record, with the place; [`TargetError::Unsupported`] for a
    /// target that reads no records.
    fn recorded(&self, text: &str) -> Result<Vec<Recorded>, TargetError> {
        let _ = text;
        Err(TargetError::Unsupported(format!(
            "a record of grids, which target `{}` does not read,",
            self.spec().id
        )))
    }
}

/// Everything about a compilation that a target may need to write its files.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Emission<'a> {
    /// The module of the artifact, in the integer stage. The main graph is the one that runs. If there are two graphs,
    /// the first one is the graph before fusion.
    pub module: &'a Module,
    /// The name of the model, which is the name of its file without the extension.
    pub model: &'a str,
    /// The rewrite rules whose patterns were found in the float graph, sorted by name. Each comes with how often its
    /// pattern was found and how often the rule was applied.
    pub rules: &'a [(&'a str, Counts)],
    /// The observer of activations that is used unless a rule of the configuration names another one.
    pub observer: &'a str,
    /// For each layer, how the range of its input was found; sorted by name.
    pub observing: &'a [(String, Observing)],
    /// False if no rewrite rule may merge a layer into another one.
    pub fuses: bool,
    /// The layers that rewrite rules leave separate: no rule merges them into another layer or another layer into them.
    pub unfused: &'a [&'a str],
    /// The convolutions that were made from several layers of the source model, or in which several channels together
    /// stand for one output of a layer. They are sorted by name.
    pub joined: &'a [(String, Joined)],
    /// The layers whose channels were divided by factors, sorted by name.
    pub balance: &'a [(String, Balanced)],
}

/// Factors that moved scale between the activations and the weights of a layer. The layer of the source model computes
/// W·x + b. The compiled layer computes (W·diag(input)·diag(output)⁻¹)·(x/input) + b/output, with one factor for each channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Balanced {
    /// The factors by which what the layer reads is divided. The list is empty if all of them are 1.
    pub input: Vec<f32>,
    /// The factors by which its outputs are divided. The list is empty if all of them are 1.
    pub output: Vec<f32>,
}

/// The layers of the source model that a convolution was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The name of each layer and the number of its outputs, in the order of the convolution's channels.
    pub layers: Vec<(String, u64)>,
    /// The number of neighbouring channels of the convolution that together stand for one output of a layer.
    pub each: NonZeroU32,
}

/// The way in which the range of an operand was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observing {
    /// The name of the observer, or `range` if the configuration states the range.
    pub observer: String,
    /// The settings of the observer.
    pub options: ObserverOptions,
}

impl<'a> Emission<'a> {
    /// Makes an emission for which only the module and the model's name are known.
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
            balance: &[],
        }
    }

    /// Sets the rewrite rules whose patterns were found in the float graph, with their counts.
    #[must_use]
    pub fn with_rules(self, rules: &'a [(&'a str, Counts)]) -> Emission<'a> {
        Emission { rules, ..self }
    }

    /// Sets the default observer of activations.
    #[must_use]
    pub fn with_observer(self, observer: &'a str) -> Emission<'a> {
        Emission { observer, ..self }
    }

    /// Sets, for each layer, how the range of its input was found.
    #[must_use]
    pub fn with_observing(self, observing: &'a [(String, Observing)]) -> Emission<'a> {
        Emission { observing, ..self }
    }

    /// Sets which layers no rule merges. If `fuses` is false, these are all layers.
    #[must_use]
    pub fn with_fusions(self, fuses: bool, unfused: &'a [&'a str]) -> Emission<'a> {
        Emission { fuses, unfused, ..self }
    }

    /// Adds the convolutions whose channels are not the outputs of one layer of the model.
    #[must_use]
    pub fn with_joined(self, joined: &'a [(String, Joined)]) -> Emission<'a> {
        Emission { joined, ..self }
    }

    /// Sets the layers whose channels were divided by factors.
    #[must_use]
    pub fn with_balance(self, balance: &'a [(String, Balanced)]) -> Emission<'a> {
        Emission { balance, ..self }
    }

    /// The factors of a layer. `None` if all of them are 1.
    pub fn balance(&self, layer: &str) -> Option<&'a Balanced> {
        named(self.balance, layer)
    }

    /// The layers that a convolution was made from, if its channels are not exactly the outputs of one layer.
    pub fn joined(&self, layer: &str) -> Option<&'a Joined> {
        named(self.joined, layer)
    }

    /// The observer of the input of a layer, and its settings.
    pub fn observing(&self, layer: &str) -> (&'a str, ObserverOptions) {
        named(self.observing, layer).map_or((self.observer, ObserverOptions::default()), |found| {
            (found.observer.as_str(), found.options.clone())
        })
    }
}

/// The entry with this name in a list that is sorted by name.
fn named<'a, T>(list: &'a [(String, T)], name: &str) -> Option<&'a T> {
    let at = list.binary_search_by(|(own, _)| own.as_str().cmp(name)).ok()?;
    Some(&list.get(at)?.1)
}

/// The scale and zero point that a record states for an operand of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The name of the layer in the source model.
    pub layer: String,
    /// The range of bytes in the text at which the layer is named.
    pub at: Range<usize>,
    /// The position of the operand in the layer: 0 is the input, and 1 the weights.
    pub operand: usize,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point. Weights have a single scale, or one for each output.
    pub params: QuantParams,
}

/// Plain data about a place in the graph at which a fusion row matches.
#[derive(Clone, Copy, Debug)]
pub struct FusionSite<'a> {
    /// The row's name.
    pub row: &'a str,
    op: &'a Op,
    /// For each operand of the producer: its element type and, if it has them, its scale and zero point.
    pub operands: &'a [(Elem, Option<&'a QuantParams>)],
    /// The requantization of the producer's result.
    pub requant: &'a Requantization,
}

impl<'a> FusionSite<'a> {
    /// Describes a place at which a fusion row matches: the producer, its operands, and the requantization of its
    /// result.
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

    /// The producer's term. Later versions of Strait have more terms, so a target's code must also handle terms that it
    /// does not know.
    pub fn term(&self) -> Term {
        self.op.term()
    }

    /// Returns the producer's attribute that has the name `key` in the text form of a graph; `None` if the producer has
    /// no such attribute.
    pub fn attribute(&self, key: &str) -> Option<Attribute> {
        self.op.attribute(key)
    }
}

/// The answer to [`Target::custom`].
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The operations are not fused, for this reason.
    Refuse(Reason),
    /// The producer computes these steps after its accumulators. Its op must not change, since a certificate compares
    /// only what happens after the accumulators.
    Fuse(Fused),
}

/// The destination of a target's files. Targets need not depend on the crates that write formats: a graph is passed to
/// the writer that is registered for its format.
pub trait Sink {
    /// Writes a file with this content. `path` is relative, with forward slashes.
    ///
    /// # Errors
    /// [`TargetError::Sink`] if the file cannot be written.
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError>;

    /// Appends to a file, so that the whole file never has to be in memory. The first piece creates the file. Returns
    /// false, and writes nothing, if the sink only accepts whole files. Pieces of several files may alternate. A file
    /// that is written in pieces must not be written by [`Sink::bytes`], too.
    ///
    /// # Errors
    /// As for [`Sink::bytes`].
    fn append(&mut self, path: &str, piece: &[u8]) -> Result<bool, TargetError> {
        let _ = (path, piece);
        Ok(false)
    }

    /// Writes a file in the format `format` with the main graph of a module in the export stage.
    ///
    /// # Errors
    /// [`TargetError::Unsupported`] for a format without a writer, [`TargetError::Sink`] if the file cannot be written.
    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError>;
}

/// Error of a target.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The caller asked for a feature that the target does not have.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// No form of the table accepts a requantization. The code that made the requantization is at fault.
    #[error("no form of target `{target}` computes this {kind}: {reasons}")]
    NoForm {
        /// The target's id.
        target: String,
        /// The requantization's kind.
        kind: &'static str,
        /// Why each of the forms refuses the requantization.
        reasons: String,
    },
    /// The target's kernel refuses a requantization that its table accepts. The target is at fault.
    #[error("form `{form}` of target `{target}`: {error}")]
    Kernel {
        /// The target's id.
        target: String,
        /// The form's name.
        form: String,
        /// Error of the kernel.
        error: KernelError,
    },
    /// The target's kernel computes a result that differs from the form's. The target is at fault.
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
        /// The right code, by the form's definition.
        expected: i32,
        /// The code that the kernel computes.
        found: i32,
    },
    /// A plugin in a library, or its process, failed. The target is at fault.
    #[error("target `{target}`: {message}")]
    Plugin {
        /// The target's id.
        target: String,
        /// A message that names the plugin, the call and the error.
        message: String,
    },
    /// The target's code panicked. The target is at fault.
    #[error("target `{target}`: {what} panicked: {message}")]
    Panicked {
        /// The target's id.
        target: String,
        /// Which part of the target's code panicked.
        what: String,
        /// The message of the panic.
        message: String,
    },
    /// A text of the vendor's own tool has an error. The author of the text is at fault.
    #[error("{message}")]
    Text {
        /// The range of bytes of the text that are wrong.
        at: Range<usize>,
        /// What is wrong, in one sentence.
        message: String,
    },
    /// The target wrote a file that is not allowed in an artifact. The target is at fault.
    #[error("target `{target}` emits `{path}`: {fault}")]
    Emitted {
        /// The target's id.
        target: String,
        /// Name of the file.
        path: String,
        /// The rule that the file breaks, and what would be right.
        fault: String,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {message}")]
    Sink {
        /// Name of the file.
        path: String,
        /// Why the file cannot be written.
        message: String,
    },
    /// The model needs something that the target cannot do.
    #[error(transparent)]
    Refused(#[from] Reason),
}
