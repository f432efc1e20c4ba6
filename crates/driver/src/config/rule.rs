//! Settings of rules. Later rules win.

use std::num::NonZeroU32;

use super::{
    leaf::Range,
    types::{
        Activation, Activations, Align, Integer, Observer, ObserverOptions, Quantize, Rule, Run, ScaleSet, Unfit,
        WeightPer, Weights,
    },
};

/// Settings of one layer or tensor in the configuration. `None`: the target's default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Where the layer computes.
    pub run: Option<Run>,
    /// The values of its output.
    pub range: Option<Range>,
    /// Observer that makes the range of its output.
    pub observer: Option<Observer>,
    /// Of the observer.
    pub observer_options: ObserverOptions,
    /// Which grids its operands and results share.
    pub alignment: Option<Align>,
    /// The type of its weights.
    pub weight_type: Option<Integer>,
    /// True: its weights have no zero point.
    pub weight_symmetric: Option<bool>,
    /// Which scales its weights have.
    pub weight_scale: Option<ScaleSet>,
    /// Granularity of the scales of its weights.
    pub weight_per: Option<WeightPer>,
    /// Inputs that share a scale of its weights.
    pub weight_block: Option<NonZeroU32>,
    /// Observer that makes the ranges of its weights.
    pub weight_observer: Option<Observer>,
    /// Consequence where a bias or a scale does not fit.
    pub weight_unfit: Option<Unfit>,
    /// The type of its output.
    pub activation_type: Option<Activation>,
    /// True: its output has no zero point.
    pub activation_symmetric: Option<bool>,
    /// Which scales its output has.
    pub activation_scale: Option<ScaleSet>,
}

impl Settings {
    /// Key by key, what `later` says wins.
    #[must_use]
    pub fn overlaid(self, later: Settings) -> Settings {
        Settings {
            run: later.run.or(self.run),
            range: later.range.or(self.range),
            observer: later.observer.or(self.observer),
            observer_options: later.observer_options.or(&self.observer_options),
            alignment: later.alignment.or(self.alignment),
            weight_type: later.weight_type.or(self.weight_type),
            weight_symmetric: later.weight_symmetric.or(self.weight_symmetric),
            weight_scale: later.weight_scale.or(self.weight_scale),
            weight_per: later.weight_per.or(self.weight_per),
            weight_block: later.weight_block.or(self.weight_block),
            weight_observer: later.weight_observer.or(self.weight_observer),
            weight_unfit: later.weight_unfit.or(self.weight_unfit),
            activation_type: later.activation_type.or(self.activation_type),
            activation_symmetric: later.activation_symmetric.or(self.activation_symmetric),
            activation_scale: later.activation_scale.or(self.activation_scale),
        }
    }
}

impl Rule {
    /// True if it chooses layers, not only tensors.
    pub fn selects_layers(&self) -> bool {
        !self.layers.is_empty() || !self.op.is_empty() || self.between.is_some()
    }

    /// True if it is for some operands or results of the layers that it chooses, and not for these.
    pub fn selects_ports(&self) -> bool {
        !self.operands.is_empty() || !self.results.is_empty()
    }

    /// Settings of the rule.
    pub fn settings(&self) -> Settings {
        Settings {
            run: self.run,
            range: self.range,
            observer: self.observer,
            observer_options: self.observer_options.clone(),
            alignment: self.alignment,
            ..of_types(&self.weights, &self.activations)
        }
    }
}

impl Quantize {
    /// Settings of a layer that the rules at these positions match, in rising order; without rules, those of every
    /// layer.
    pub fn settings(&self, matched: impl IntoIterator<Item = usize>) -> Settings {
        let rules = matched.into_iter().filter_map(|index| self.rule.get(index));
        rules.fold(of_types(&self.weights, &self.activations), |settings, rule| {
            settings.overlaid(rule.settings())
        })
    }
}

fn of_types(weights: &Weights, activations: &Activations) -> Settings {
    Settings {
        weight_type: weights.codes,
        weight_symmetric: weights.symmetric,
        weight_scale: weights.scale,
        weight_per: weights.per,
        weight_block: weights.block,
        weight_observer: weights.observer,
        weight_unfit: weights.unfit,
        activation_type: activations.ty,
        activation_symmetric: activations.symmetric,
        activation_scale: activations.scale,
        ..Settings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_rule_wins_key_by_key() {
        let rule = |run, observer, range: Option<[f64; 2]>| Rule {
            run,
            observer,
            range: range.map(Range),
            ..Rule::default()
        };
        let quantize = Quantize {
            weights: Weights {
                per: Some(WeightPer::Tensor),
                ..Weights::default()
            },
            rule: vec![
                rule(Some(Run::Float), Some(Observer::Mse), None),
                rule(None, Some(Observer::MinMax), Some([0.0, 1.0])),
                rule(Some(Run::Auto), None, None),
            ],
            ..Quantize::default()
        };
        let expected = Settings {
            run: Some(Run::Float),
            observer: Some(Observer::MinMax),
            range: Some(Range([0.0, 1.0])),
            weight_per: Some(WeightPer::Tensor),
            ..Settings::default()
        };
        assert_eq!(quantize.settings([0, 1]), expected);
        assert_eq!(
            quantize.settings([0, 1, 2]),
            Settings {
                run: Some(Run::Auto),
                ..expected
            }
        );
        assert_eq!(quantize.settings([]).run, None);
    }
}
