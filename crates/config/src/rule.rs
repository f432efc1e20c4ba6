//! Settings of rules. Later rules win.

use super::{
    leaf::Range,
    types::{Activations, Align, Integer, Observer, ObserverOptions, Quantize, Rule, Run, Weights},
};

/// Settings that rules make together of one layer, operand or tensor. `None`: what `[quantize]` says, or the target's default.
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
    /// True if its results are made on the grid that all readers want.
    pub simplify: Option<bool>,
    /// Its weights.
    pub weights: Weights,
    /// The activations that it computes on, or its output.
    pub activations: Activations,
}

impl Settings {
    /// Key by key, what `later` says wins. A range and an observer are two answers to one question.
    #[must_use]
    fn overlaid(self, later: Settings) -> Settings {
        let (weights, activations) = (self.weights, self.activations);
        Settings {
            run: later.run.or(self.run),
            range: later.range.or(self.range.filter(|_| later.observer.is_none())),
            observer: later.observer.or(self.observer),
            observer_options: later.observer_options.or(&self.observer_options),
            alignment: later.alignment.or(self.alignment),
            simplify: later.simplify.or(self.simplify),
            weights: Weights {
                codes: later.weights.codes.or(weights.codes),
                symmetric: later.weights.symmetric.or(weights.symmetric),
                scale: later.weights.scale.or(weights.scale),
                per: later.weights.per.or(weights.per),
                block: later.weights.block.or(weights.block),
                observer: later.weights.observer.or(weights.observer),
                unfit: later.weights.unfit.or(weights.unfit),
            },
            activations: Activations {
                ty: later.activations.ty.or(activations.ty),
                symmetric: later.activations.symmetric.or(activations.symmetric),
                scale: later.activations.scale.or(activations.scale),
            },
        }
    }
}

impl Rule {
    /// True if it chooses layers, not only tensors.
    pub fn selects_layers(&self) -> bool {
        !self.layers.is_empty() || !self.op.is_empty() || self.between.is_some()
    }

    /// True if it is for a target.
    pub fn is_for(&self, target: &str) -> bool {
        self.target.is_empty() || self.target.iter().any(|id| id == target)
    }

    /// True if it is for some operands or results of the layers that it chooses, and not for these.
    pub fn selects_ports(&self) -> bool {
        !self.operands.is_empty() || !self.results.is_empty()
    }

    /// True if it says where the ranges of results, or of the operands that it names, come from.
    pub fn ranges(&self) -> bool {
        self.range.is_some() || self.observer.is_some() || self.observer_options != ObserverOptions::default()
    }

    /// Settings of the rule.
    pub fn settings(&self) -> Settings {
        Settings {
            run: self.run,
            range: self.range,
            observer: self.observer,
            observer_options: self.observer_options.clone(),
            alignment: self.alignment,
            simplify: self.simplify,
            weights: self.weights.clone(),
            activations: self.activations.clone(),
        }
    }
}

impl Quantize {
    /// Settings of the rules at these positions together, in rising order.
    pub fn settings<'a>(&self, matched: impl IntoIterator<Item = &'a usize>) -> Settings {
        let rules = matched.into_iter().filter_map(|&index| self.rule.get(index));
        rules.fold(Settings::default(), |settings, rule| settings.overlaid(rule.settings()))
    }

    /// Of these rules the position of the last one that says something, and what it says.
    pub fn last<'a, T>(
        &self,
        matched: impl IntoIterator<Item = &'a usize, IntoIter: DoubleEndedIterator>,
        says: impl Fn(&Rule) -> Option<T>,
    ) -> Option<(usize, T)> {
        let mut rules = matched.into_iter().rev();
        rules.find_map(|&index| Some((index, says(self.rule.get(index)?)?)))
    }

    /// The type of a layer's weights, and the rule that asks for it. Where the layer runs in float, that is the rule which says
    /// so or a later one: what was said of it in integers is not meant of it in float.
    pub fn weight_type(&self, matched: &[usize]) -> Option<(usize, Integer)> {
        let first = match self.last(matched, |rule| rule.run) {
            Some((index, Run::Float)) => index,
            _ => 0,
        };
        let meant = matched.iter().filter(|&&index| index >= first);
        self.last(meant, |rule| rule.weights.codes)
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
            rule: vec![
                rule(Some(Run::Float), Some(Observer::Mse), None),
                rule(None, None, Some([0.0, 1.0])),
                rule(Some(Run::Auto), None, None),
                rule(None, Some(Observer::MinMax), None),
            ],
            ..Quantize::default()
        };
        let expected = Settings {
            run: Some(Run::Float),
            observer: Some(Observer::Mse),
            range: Some(Range([0.0, 1.0])),
            ..Settings::default()
        };
        assert_eq!(quantize.settings(&[0, 1]), expected);
        let run = Some(Run::Auto);
        assert_eq!(quantize.settings(&[0, 1, 2]), Settings { run, ..expected });
        // A range is taken from an observer, or stated.
        let observer = Some(Observer::MinMax);
        let observed = Settings {
            run,
            observer,
            ..Settings::default()
        };
        assert_eq!(quantize.settings(&[0, 1, 2, 3]), observed);
        assert_eq!(quantize.settings(&[]), Settings::default());
    }
}
