//! Rules: what whoever compiles wants of single layers, or of all.

use std::collections::BTreeSet;

use strait_compile::Resolved;
use strait_core::{Module, NodeId, codes};
use strait_document::{Glob, nearest};
use strait_quantize::annotate::Run;
use strait_target::TargetSpec;
pub use strait_target::spec::{Activation, Integer, Observer, WeightPer};

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
    weight_per: Option<WeightPer>,
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

    /// The rules, resolved to one target's float graph.
    pub(crate) fn resolved(&self, module: &Module, spec: &TargetSpec) -> Result<Resolved, Error> {
        let mut resolved = Resolved::new(spec);
        let settings = &mut resolved.settings;
        settings.default.observer.observer = self.observer.unwrap_or(spec.quantize.observer);
        settings.default.activation = self.activations.map(|t| known(t, spec)).transpose()?;
        for (position, rule) in self.layers.iter().enumerate() {
            let activations = rule.activations.map(|t| known(t, spec)).transpose()?;
            for id in rule.chosen(module)? {
                let layer = settings.layers.entry(id).or_default();
                layer.rules.push(position);
                if let Some(run) = &rule.run {
                    layer.run = Some(run.clone());
                    layer.activation = matches!(run, Run::Float(_)).then_some(Activation::Float32);
                }
                layer.activation = activations.or(layer.activation);
                layer.weights.per = rule.weight_per.or(layer.weights.per);
            }
        }
        Ok(resolved)
    }
}

impl LayerRule {
    /// A rule for the layers whose names in the model match a pattern: `*` is any number of characters but `/`, `**` any number
    /// of any.
    pub fn of(layers: impl Into<String>) -> LayerRule {
        LayerRule {
            layers: layers.into(),
            run: None,
            activations: None,
            weight_per: None,
        }
    }

    /// They run on the host in float, for this reason.
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

    /// Elements of their weights that share a scale.
    #[must_use]
    pub fn weights_per(mut self, per: WeightPer) -> LayerRule {
        self.weight_per = Some(per);
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
