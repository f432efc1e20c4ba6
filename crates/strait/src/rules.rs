//! Rules for compiling: what the caller wants for layers, operands and tensors. These rules have the same settings as
//! the rules in a configuration, with the same meaning. The section on `[quantize]` in `docs/configuration.md`
//! describes them.

pub use strait_compile::rules::{Activations, Alignment, Unfit, Weights};
use strait_compile::rules::{Between, Pattern, Range, Rule, Run};
use strait_compile::{Model, Resolved, rules};
use strait_core::Module;
use strait_target::TargetSpec;
pub use strait_target::spec::{
    Activation, Alignment as Align, Integer, Observer, ObserverOptions, ScaleSet, WeightPer,
};

use crate::Error;

/// Defines methods that take a value, change it, and return it.
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

/// The caller's rules for a compilation. Without rules, a model is compiled as the target's table says.
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

/// A rule for layers, for some operands or results of layers, or for tensors. The rule applies to the layers that meet
/// all of its selectors. If several rules set the same key for the same thing, the last one wins.
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
    /// Makes an empty set of rules.
    pub fn new() -> Rules {
        Rules::default()
    }

    changes! {
        /// Sets the type of the activations of all layers, or further properties of their quantization.
        pub fn activations(activations: impl Into<Activations>) = |all| all.quantize.activations = activations.into();

        /// Sets how the weights of all layers are quantized.
        pub fn weights(weights: Weights) = |all| all.quantize.weights = weights;

        /// Sets which operands and results of layers share a scale and zero point.
        pub fn alignment(alignment: Alignment) = |all| all.quantize.alignment = alignment;

        /// Sets the observer, which computes ranges from the measured statistics.
        pub fn observer(observer: Observer) = |all| all.observer = Some(observer);

        /// Sets the options of observers. They apply unless a rule sets other options.
        pub fn observer_options(options: ObserverOptions) = |all| all.observer_options = options;

        /// Adds a rule for layers.
        pub fn layer(rule: LayerRule) = |all| all.quantize.rule.push(rule.0);
    }

    /// All rules as JSON text. Digests are computed from this text.
    pub(crate) fn text(&self) -> Result<String, Error> {
        serde_json::to_string(&self.0).map_err(Error::defect)
    }

    /// Resolves the rules for the float graph of one target.
    pub(crate) fn resolved(&self, model: &Model, module: &Module, spec: &TargetSpec) -> Result<Resolved, Error> {
        Ok(Resolved::of(&self.0, model, module, spec)?)
    }
}

impl LayerRule {
    /// Makes a rule that does not apply to anything yet.
    pub fn new() -> LayerRule {
        LayerRule::default()
    }

    /// Makes a rule for the layers whose names in the model match a pattern. In a pattern, `?` stands for one character
    /// except `/`, `*` for any number of characters except `/`, and `**` for any number of any characters. `**/` at the
    /// start of a part stands for any number of whole parts.
    pub fn of(layers: impl Into<String>) -> LayerRule {
        LayerRule::new().layers(layers)
    }

    changes! {
        /// Also applies the rule to the layers whose names match this pattern.
        pub fn layers(layers: impl Into<String>) = |rule| rule.layers.push(Pattern::new(layers));

        /// Restricts the rule to layers with this operator. The operator is named by the word that reports use, such as
        /// `conv` or `reduce_mean`. If this is called several times, the rule applies to layers with any of the
        /// operators.
        pub fn op(op: impl Into<String>) = |rule| rule.op.push(Pattern::new(op));

        /// Restricts the rule to layers that lie on a path from one of the layers `from` to one of the layers `to`.
        /// Both ends are included.
        pub fn between(
            from: impl IntoIterator<Item = impl Into<String>>,
            to: impl IntoIterator<Item = impl Into<String>>
        ) = |rule| rule.between = Some(Between {
            from: from.into_iter().map(Pattern::new).collect(),
            to: to.into_iter().map(Pattern::new).collect(),
        });

        /// Also applies the rule to tensors whose names match this pattern.
        pub fn tensors(tensors: impl Into<String>) = |rule| rule.tensors.push(Pattern::new(tensors));

        /// Applies the rule to this operand of the layers instead of the layers themselves. Operands are counted from
        /// 0. This may be called for several operands.
        pub fn operand(operand: u32) = |rule| rule.operands.push(operand);

        /// Applies the rule to this result of the layers instead of the layers themselves. Results are counted from 0.
        /// This may be called for several results.
        pub fn result(result: u32) = |rule| rule.results.push(result);

        /// Restricts the rule to compilations for this target. This may be called for several targets.
        pub fn target(id: impl Into<String>) = |rule| rule.target.push(id.into());

        /// Allows the rule to match nothing, or only things for which its settings have no effect. Without this, both
        /// are errors.
        pub fn optional() = |rule| rule.optional = true;

        /// Runs the layers on the host in float, whatever type other rules set for their activations. The report states
        /// the reason.
        pub fn float(reason: impl Into<String>) = |rule| {
            (rule.run, rule.reason) = (Some(Run::Float), Some(reason.into()));
        };

        /// Requires that the layers run in integers. Otherwise the compilation fails.
        pub fn integer() = |rule| rule.run = Some(Run::Integer);

        /// Lets the compiler choose where the layers run, even if earlier rules require a place.
        pub fn auto() = |rule| rule.run = Some(Run::Auto);

        /// Sets the range of the results, or of the operands, in place of the measured range.
        pub fn range(lowest: f32, highest: f32) = |rule| rule.range = Some(Range([lowest, highest].map(f64::from)));

        /// Sets the observer that computes the range of the results, or of the operands, from the measured statistics.
        pub fn observer(observer: Observer) = |rule| rule.observer = Some(observer);

        /// Sets the options of the observer.
        pub fn observer_options(options: ObserverOptions) = |rule| rule.observer_options = options;

        /// Sets which operands and results of the layers share a scale and zero point.
        pub fn alignment(alignment: Align) = |rule| rule.alignment = Some(alignment);

        /// If true, a result gets the scale and zero point that its readers use, provided that all readers use the same
        /// scale and zero point. If false, a result always gets a scale and zero point from its own range.
        pub fn simplify(simplify: bool) = |rule| rule.simplify = Some(simplify);

        /// Sets how the weights of the layers are quantized.
        pub fn weights(weights: Weights) = |rule| rule.weights = weights;

        /// Sets the type of the activations that the layers compute with, or of the chosen tensors and results. It can
        /// also set further properties of their quantization.
        pub fn activations(activations: impl Into<Activations>) = |rule| rule.activations = activations.into();
    }
}
