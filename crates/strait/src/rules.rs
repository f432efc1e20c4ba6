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

/// Methods that take the value, change what is in it, and give it back.
macro_rules! changes {
    ($($(#[$doc:meta])* $visible:vis fn $name:ident($($argument:ident: $ty:ty),*) = |$of:ident| $change:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        $visible fn $name(mut self, $($argument: $ty),*) -> Self {
            let $of = &mut self.0;
            $change;
            self
        }
    )*};
}

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

    changes! {
        /// The activations of all layers: their type, or more of them.
        pub fn activations(activations: impl Into<Activations>) = |all| all.quantize.activations = activations.into();

        /// The weights of all layers.
        pub fn weights(weights: Weights) = |all| all.quantize.weights = weights;

        /// Which grids the operands and results of layers share.
        pub fn alignment(alignment: Alignment) = |all| all.quantize.alignment = alignment;

        /// The observer that makes ranges of what was measured.
        pub fn observer(observer: Observer) = |all| all.observer = Some(observer);

        /// Settings of the observers, as far as no rule says others.
        pub fn observer_options(options: ObserverOptions) = |all| all.observer_options = options;

        /// One more rule for layers.
        pub fn layer(rule: LayerRule) = |all| all.quantize.rule.push(rule.0);
    }

    /// All of them as text, which digests are made of.
    pub(crate) fn text(&self) -> Result<String, Error> {
        serde_json::to_string(&self.0).map_err(Error::defect)
    }

    /// The rules, resolved to one target's float graph.
    pub(crate) fn resolved(&self, model: &Model, module: &Module, spec: &TargetSpec) -> Result<Resolved, Error> {
        Ok(Resolved::of(&self.0, model, module, spec)?)
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

    changes! {
        /// The layers of one more pattern.
        pub fn layers(layers: impl Into<String>) = |rule| rule.layers.push(Pattern::new(layers));

        /// Of the layers those with this operator, by the word that reports have for it: `conv`, `reduce_mean`. One more word
        /// chooses these, too.
        pub fn op(op: impl Into<String>) = |rule| rule.op.push(Pattern::new(op));

        /// Of the layers those on a way from some to others, both included.
        pub fn between(
            from: impl IntoIterator<Item = impl Into<String>>,
            to: impl IntoIterator<Item = impl Into<String>>
        ) = |rule| rule.between = Some(Between {
            from: from.into_iter().map(Pattern::new).collect(),
            to: to.into_iter().map(Pattern::new).collect(),
        });

        /// The tensors of one more pattern, besides the layers.
        pub fn tensors(tensors: impl Into<String>) = |rule| rule.tensors.push(Pattern::new(tensors));

        /// One more operand of the layers, counted from 0, in place of these.
        pub fn operand(operand: u32) = |rule| rule.operands.push(operand);

        /// One more result of the layers, counted from 0, in place of these.
        pub fn result(result: u32) = |rule| rule.results.push(result);

        /// The rule is for this target, and for others that are named so.
        pub fn target(id: impl Into<String>) = |rule| rule.target.push(id.into());

        /// It may match nothing, or nothing that has a use for what it sets.
        pub fn optional() = |rule| rule.optional = true;

        /// They run on the host in float, for this reason, whatever type other rules give their activations.
        pub fn float(reason: impl Into<String>) = |rule| {
            (rule.run, rule.reason) = (Some(Run::Float), Some(reason.into()));
        };

        /// They run in integers, or the compilation fails.
        pub fn integer() = |rule| rule.run = Some(Run::Integer);

        /// They run where they serve best, whatever earlier rules say.
        pub fn auto() = |rule| rule.run = Some(Run::Auto);

        /// The values of their results, or of the operands, instead of what was measured.
        pub fn range(lowest: f32, highest: f32) = |rule| rule.range = Some(Range([lowest, highest].map(f64::from)));

        /// The observer that makes the ranges of their results, or of the operands, from what was measured.
        pub fn observer(observer: Observer) = |rule| rule.observer = Some(observer);

        /// Settings of the observer.
        pub fn observer_options(options: ObserverOptions) = |rule| rule.observer_options = options;

        /// Which grids their operands and results share.
        pub fn alignment(alignment: Align) = |rule| rule.alignment = Some(alignment);

        /// True: a result that all readers want on one grid is made on that. False: it has a range of its own.
        pub fn simplify(simplify: bool) = |rule| rule.simplify = Some(simplify);

        /// Their weights.
        pub fn weights(weights: Weights) = |rule| rule.weights = weights;

        /// The activations that they compute on, or that tensors and results are: their type, or more of them.
        pub fn activations(activations: impl Into<Activations>) = |rule| rule.activations = activations.into();
    }
}
