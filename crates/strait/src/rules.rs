//! Rules: what whoever compiles wants of layers, operands and tensors. They can say all that the rules of a configuration can, and
//! mean the same; the reference is that of `[quantize]` in `docs/configuration.md`.

pub use strait_compile::rules::{Activations, Alignment, Unfit, Weights};
use strait_compile::rules::{Between, Pattern, Range, Rule, Run};
use strait_compile::{Model, Resolved, rules};
use strait_core::Module;
use strait_target::TargetSpec;
pub use strait_target::spec::{
    Activation, Alignment as Align, Integer, Observer, ObserverOptions, ScaleSet, WeightPer,
};

use crate::Error;

/// Rules of whoever compiles. Without any everything is as the target's table says.
///
/// ```
/// use strait::{LayerRule, Rules, rules::{Integer, Observer, WeightPer, Weights}};
///
/// let rules = Rules::new()
///     .observer(Observer::Mse)
///     .weights(Weights { per: Some(WeightPer::Channel), ..Weights::default() })
///     .layer(LayerRule::of("/head/**").float("its sums need more than 8 bits"))
///     .layer(LayerRule::new().op("conv").activations(Integer::Int16));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules(rules::Rules);

/// A rule for those layers that all of its selectors choose, or for some of their operands or results, and for tensors. Where several
/// rules choose the same, later ones win, key by key.
///
/// ```
/// use strait::{LayerRule, Rules, rules::{Activations, Observer, ObserverOptions}};
///
/// let stem = LayerRule::new().between(["/stem/Conv"], ["/stem/Relu"]).integer();
/// let scores = LayerRule::new().tensors("scores").range(0.0, 1.0);
/// let reads = LayerRule::of("/neck/Add").operand(1).observer(Observer::Percentile).observer_options(ObserverOptions {
///     percentile: Some(99.9),
///     ..ObserverOptions::default()
/// });
/// let plain = LayerRule::of("/neck/**").activations(Activations { symmetric: Some(true), ..Activations::default() });
/// let rules = [stem, scores, reads, plain].into_iter().fold(Rules::new(), Rules::layer);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerRule(Rule);

impl Rules {
    /// No rules.
    pub fn new() -> Rules {
        Rules::default()
    }

    /// The activations of all layers: their type, or more of them.
    #[must_use]
    pub fn activations(mut self, activations: impl Into<Activations>) -> Rules {
        self.0.quantize.activations = activations.into();
        self
    }

    /// The weights of all layers.
    #[must_use]
    pub fn weights(mut self, weights: Weights) -> Rules {
        self.0.quantize.weights = weights;
        self
    }

    /// Which grids the operands and results of layers share.
    #[must_use]
    pub fn alignment(mut self, alignment: Alignment) -> Rules {
        self.0.quantize.alignment = alignment;
        self
    }

    /// The observer that makes ranges of what was measured.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Rules {
        self.0.observer = Some(observer);
        self
    }

    /// Settings of the observers, as far as no rule says others.
    #[must_use]
    pub fn observer_options(mut self, options: ObserverOptions) -> Rules {
        self.0.observer_options = options;
        self
    }

    /// One more rule for layers.
    #[must_use]
    pub fn layer(mut self, rule: LayerRule) -> Rules {
        self.0.quantize.rule.push(rule.0);
        self
    }

    /// All of them as text, which digests are made of.
    pub(crate) fn text(&self) -> Result<String, Error> {
        serde_json::to_string(&self.0).map_err(Error::defect)
    }

    /// The rules, resolved to one target's float graph.
    pub(crate) fn resolved(&self, model: &Model, module: &Module, spec: &TargetSpec) -> Result<Resolved, Error> {
        Ok(self.0.resolved(model, module, spec)?)
    }
}

impl LayerRule {
    /// A rule that chooses nothing yet.
    pub fn new() -> LayerRule {
        LayerRule::default()
    }

    /// A rule for the layers whose names in the model match a pattern: `?` is one character but `/`, `*` any number of these, `**`
    /// any number of any, and `**/` at the start of a part any number of whole parts.
    pub fn of(layers: impl Into<String>) -> LayerRule {
        LayerRule::new().layers(layers)
    }

    /// The layers of one more pattern.
    #[must_use]
    pub fn layers(mut self, layers: impl Into<String>) -> LayerRule {
        self.0.layers.push(Pattern::new(layers));
        self
    }

    /// Of the layers those with this operator, by the word that reports have for it: `conv`, `reduce_mean`. One more word chooses
    /// these, too.
    #[must_use]
    pub fn op(mut self, op: impl Into<String>) -> LayerRule {
        self.0.op.push(Pattern::new(op));
        self
    }

    /// Of the layers those on a way from some to others, both included.
    #[must_use]
    pub fn between<T: Into<String>>(
        mut self,
        from: impl IntoIterator<Item = T>,
        to: impl IntoIterator<Item = T>,
    ) -> LayerRule {
        self.0.between = Some(Between {
            from: from.into_iter().map(Pattern::new).collect(),
            to: to.into_iter().map(Pattern::new).collect(),
        });
        self
    }

    /// The tensors of one more pattern, besides the layers.
    #[must_use]
    pub fn tensors(mut self, tensors: impl Into<String>) -> LayerRule {
        self.0.tensors.push(Pattern::new(tensors));
        self
    }

    /// One more operand of the layers, counted from 0, in place of these.
    #[must_use]
    pub fn operand(mut self, operand: u32) -> LayerRule {
        self.0.operands.push(operand);
        self
    }

    /// One more result of the layers, counted from 0, in place of these.
    #[must_use]
    pub fn result(mut self, result: u32) -> LayerRule {
        self.0.results.push(result);
        self
    }

    /// The rule is for this target, and for others that are named so.
    #[must_use]
    pub fn target(mut self, id: impl Into<String>) -> LayerRule {
        self.0.target.push(id.into());
        self
    }

    /// It may match nothing, or nothing that has a use for what it sets.
    #[must_use]
    pub fn optional(mut self) -> LayerRule {
        self.0.optional = true;
        self
    }

    /// They run on the host in float, for this reason, whatever type other rules give their activations.
    #[must_use]
    pub fn float(mut self, reason: impl Into<String>) -> LayerRule {
        (self.0.run, self.0.reason) = (Some(Run::Float), Some(reason.into()));
        self
    }

    /// They run in integers, or the compilation fails.
    #[must_use]
    pub fn integer(mut self) -> LayerRule {
        self.0.run = Some(Run::Integer);
        self
    }

    /// They run where they serve best, whatever earlier rules say.
    #[must_use]
    pub fn auto(mut self) -> LayerRule {
        self.0.run = Some(Run::Auto);
        self
    }

    /// The values of their results, or of the operands, instead of what was measured.
    #[must_use]
    pub fn range(mut self, lowest: f32, highest: f32) -> LayerRule {
        self.0.range = Some(Range([lowest, highest].map(f64::from)));
        self
    }

    /// The observer that makes the ranges of their results, or of the operands, from what was measured.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> LayerRule {
        self.0.observer = Some(observer);
        self
    }

    /// Settings of the observer.
    #[must_use]
    pub fn observer_options(mut self, options: ObserverOptions) -> LayerRule {
        self.0.observer_options = options;
        self
    }

    /// Which grids their operands and results share.
    #[must_use]
    pub fn alignment(mut self, alignment: Align) -> LayerRule {
        self.0.alignment = Some(alignment);
        self
    }

    /// True: a result that all readers want on one grid is made on that. False: it has a range of its own.
    #[must_use]
    pub fn simplify(mut self, simplify: bool) -> LayerRule {
        self.0.simplify = Some(simplify);
        self
    }

    /// Their weights.
    #[must_use]
    pub fn weights(mut self, weights: Weights) -> LayerRule {
        self.0.weights = weights;
        self
    }

    /// The activations that they compute on, or that tensors and results are: their type, or more of them.
    #[must_use]
    pub fn activations(mut self, activations: impl Into<Activations>) -> LayerRule {
        self.0.activations = activations.into();
        self
    }
}
