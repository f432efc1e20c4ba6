//! Rules: what whoever compiles wants of single layers, or of all.

use std::collections::{BTreeMap, BTreeSet};

use strait_compile::Resolved;
use strait_core::{Module, NodeId, codes};
use strait_document::{Glob, nearest};
use strait_quantize::annotate::Run;
pub use strait_target::spec::{Activation, Integer, Observer};
use strait_target::{
    TargetSpec,
    spec::{Codes, Observed},
};

use crate::{Error, Fault};

/// Number of names that an error lists.
const MOST_NAMES: usize = 3;

/// Rules of whoever compiles. Without any everything is as the target's table says.
///
/// ```
/// use strait::{LayerRule, Rules, rules::Observer};
///
/// let rules = Rules::new()
///     .observer(Observer::Mse)
///     .layer(LayerRule::of("/head/**").float("its sums need more than 8 bits"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    activations: Option<Activation>,
    observer: Option<Observer>,
    layers: Vec<LayerRule>,
}

/// A rule for layers. Where several choose a layer, later ones win.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRule {
    layers: String,
    run: Option<Run>,
    activations: Option<Activation>,
}

impl Rules {
    /// No rules.
    pub fn new() -> Rules {
        Rules::default()
    }

    /// The type of the activations of all layers.
    #[must_use]
    pub fn activations(mut self, activations: Activation) -> Rules {
        self.activations = Some(activations);
        self
    }

    /// The observer that makes ranges of what was measured.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Rules {
        self.observer = Some(observer);
        self
    }

    /// One more rule for layers.
    #[must_use]
    pub fn layer(mut self, rule: LayerRule) -> Rules {
        self.layers.push(rule);
        self
    }

    /// All of them as text, a line each, which digests are made of.
    pub(crate) fn text(&self) -> String {
        let word = |what: &str, word: Option<String>| word.map(|word| format!("{what} {word}\n")).unwrap_or_default();
        let activations = word("activations", self.activations.map(|t| t.to_string()));
        let observer = word("observer", self.observer.map(|observer| observer.to_string()));
        let rules = self.layers.iter().map(|rule| {
            let run = rule.run.as_ref().map(|run| match run {
                Run::Float(reason) => format!("float because {reason:?}"),
                Run::Integer => "integer".to_owned(),
            });
            let activations = rule.activations.map(|t| t.to_string());
            format!(
                "layers {:?}\n{}{}",
                rule.layers,
                word("run", run),
                word("activations", activations)
            )
        });
        [activations, observer].into_iter().chain(rules).collect()
    }

    /// The rules, resolved to one target's float graph.
    pub(crate) fn resolved(&self, module: &Module, spec: &TargetSpec) -> Result<Resolved, Error> {
        let mut resolved = Resolved::new(spec);
        let settings = &mut resolved.settings;
        let observer = self.observer.unwrap_or(spec.quantize.observer);
        if let Some(text) = observer.refusal(Observed::Activations, Codes::Integers) {
            return Err(Error::new(Fault::Rules, codes::UNSUPPORTED, text));
        }
        settings.default.observer.observer = observer;
        settings.default.activation = self.activations.map(|t| known(t, spec)).transpose()?;
        let mut types = BTreeMap::new();
        for (position, rule) in self.layers.iter().enumerate() {
            let chosen = rule.chosen(module)?;
            if let Some(activations) = rule.activations {
                has_a_use(known(activations, spec)?, &chosen, module, spec, rule)?;
                types.extend(chosen.iter().map(|&id| (id, activations)));
            }
            for id in chosen {
                let entry = settings.layers.entry(id).or_default();
                entry.rules.push(position);
                entry.run = rule.run.clone().or(entry.run.take());
            }
        }
        // What is in float has real activations, whatever type it had before.
        for (id, entry) in &mut settings.layers {
            entry.activation = match entry.run {
                Some(Run::Float(_)) => Some(Activation::Float32),
                Some(Run::Integer) | None => types.get(id).copied(),
            };
        }
        Ok(resolved)
    }
}

impl LayerRule {
    /// A rule for the layers whose names in the model match a pattern: `?` is one character but `/`, `*` any number of these, `**`
    /// any number of any, and `**/` at the start of a part any number of whole parts.
    pub fn of(layers: impl Into<String>) -> LayerRule {
        LayerRule {
            layers: layers.into(),
            run: None,
            activations: None,
        }
    }

    /// They run on the host in float, for this reason, whatever type other rules give their activations.
    #[must_use]
    pub fn float(mut self, reason: impl Into<String>) -> LayerRule {
        self.run = Some(Run::Float(reason.into()));
        self
    }

    /// They run in integers, or the compilation fails.
    #[must_use]
    pub fn integer(mut self) -> LayerRule {
        self.run = Some(Run::Integer);
        self
    }

    /// The type of the activations that they compute on.
    #[must_use]
    pub fn activations(mut self, activations: Activation) -> LayerRule {
        self.activations = Some(activations);
        self
    }

    /// The nodes that it chooses, by the layers that they were made from.
    fn chosen(&self, module: &Module) -> Result<BTreeSet<NodeId>, Error> {
        let (graph, glob) = (module.main(), Glob::new(&self.layers));
        let matches = |sources: &[strait_core::Symbol]| sources.iter().any(|&name| glob.matches(module.name(name)));
        let chosen = graph.nodes().filter(|(_, node)| matches(&node.sources));
        let chosen: BTreeSet<NodeId> = chosen.map(|(id, _)| id).collect();
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let names = graph.nodes().flat_map(|(_, node)| &node.sources);
        let names = names.map(|&name| module.name(name));
        let near = nearest::closest(&self.layers, names, MOST_NAMES).join("`, `");
        let message = format!("the rule for the layers `{}` matches nothing", self.layers);
        Err(Error::new(Fault::Rules, codes::RULE, message).help(format!("near it are `{near}`")))
    }
}

/// Refuses a type that the target has for none of the layers of a rule.
fn has_a_use(
    activations: Activation,
    chosen: &BTreeSet<NodeId>,
    module: &Module,
    spec: &TargetSpec,
    rule: &LayerRule,
) -> Result<(), Error> {
    let nodes = chosen.iter().filter_map(|&id| module.main().node(id));
    let mut terms = nodes.map(|node| node.op.term());
    if terms.any(|term| spec.pairs_of(term).any(|pair| pair.activation == activations)) {
        return Ok(());
    }
    let (id, layers) = (&spec.id, &rule.layers);
    let message = format!("the target `{id}` computes none of the layers `{layers}` on {activations} activations");
    Err(Error::new(Fault::Rules, codes::UNSUPPORTED, message))
}

/// A type of activations, if the target has it.
fn known(activations: Activation, spec: &TargetSpec) -> Result<Activation, Error> {
    let has = spec.types.pairs.iter().any(|pair| pair.activation == activations);
    if has {
        return Ok(activations);
    }
    let pairs: Vec<String> = spec.types.pairs.iter().map(ToString::to_string).collect();
    let message = format!("the target `{}` has no {activations} activations", spec.id);
    let help = format!("activations with weights that it has: {}", pairs.join(", "));
    Err(Error::new(Fault::Rules, codes::UNSUPPORTED, message).help(help))
}
