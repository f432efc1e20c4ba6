//! The keys that rules can set, in one table. Also combines several rules for the same layer, operand or tensor: the
//! later rule wins.

use strait_document::KeyPath;
use strait_target::spec::{Integer, ObserverOptions};

use super::{Quantize, Rule, Run};

/// A key that rules can set.
pub struct RuleKey {
    /// The path of the key in a rule, such as `weights.type`.
    pub name: &'static str,
    /// What the key applies to.
    pub of: Of,
    /// What is required of a layer or tensor so that the key has an effect on it.
    pub(super) need: Option<Need>,
    is_given: fn(&Rule) -> bool,
    /// Copies the key's value from a later rule.
    take: fn(&mut Rule, &Rule),
}

/// What a key applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The key applies to layers.
    Layers,
    /// The key applies to the weights of layers.
    Weights,
    /// The key applies to the activations on which layers compute, and to tensors as layers store them.
    Activations,
    /// The key applies to the ranges of layers' results, tensors and operands.
    Ranges,
}

/// What is required of a layer or tensor so that a key has an effect on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Weights,
    /// The layer must have operands or results that may share a grid.
    Sharing,
    /// The target must support the layer's op, or the layer must have weights, so that it can be weight-only.
    Types,
    /// The layer must compute on activations that are quantized to codes.
    Codes,
    /// The key is for a layer that has a value with a grid. This is the case if the layer computes on codes, or if a
    /// layer that makes its operand or reads its result computes on codes.
    Grid,
}

/// The value of a key in a rule, which may be absent.
trait Given {
    fn is_given(&self) -> bool;
    fn overlay(&mut self, later: &Self);
}

impl<T: Clone> Given for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn overlay(&mut self, later: &Self) {
        if later.is_some() {
            self.clone_from(later);
        }
    }
}

impl Given for ObserverOptions {
    fn is_given(&self) -> bool {
        *self != ObserverOptions::default()
    }

    fn overlay(&mut self, later: &Self) {
        *self = later.clone().or(self);
    }
}

macro_rules! keys {
    ($($name:literal: $($field:ident).+, $of:ident, $need:expr;)*) => {
        /// All keys that rules can set.
        pub static KEYS: &[RuleKey] = &[$(RuleKey {
            name: $name,
            of: Of::$of,
            need: $need,
            is_given: |rule| rule.$($field).+.is_given(),
            take: |rule, later| rule.$($field).+.overlay(&later.$($field).+),
        }),*];
    };
}

keys! {
    "run": run, Layers, None;
    "range": range, Ranges, Some(Need::Grid);
    "observer": observer, Ranges, Some(Need::Grid);
    "observer_options": observer_options, Ranges, None;
    "alignment": alignment, Layers, Some(Need::Sharing);
    "simplify": simplify, Layers, Some(Need::Codes);
    "activations.type": activations.ty, Activations, Some(Need::Types);
    "activations.symmetric": activations.symmetric, Activations, Some(Need::Codes);
    "activations.scale": activations.scale, Activations, Some(Need::Codes);
    "weights.type": weights.ty, Weights, Some(Need::Weights);
    "weights.symmetric": weights.symmetric, Weights, Some(Need::Weights);
    "weights.scale": weights.scale, Weights, Some(Need::Weights);
    "weights.per": weights.per, Weights, Some(Need::Weights);
    "weights.block": weights.block, Weights, Some(Need::Weights);
    "weights.observer": weights.observer, Weights, Some(Need::Weights);
    "weights.unfit": weights.unfit, Weights, Some(Need::Weights);
}

impl RuleKey {
    /// True if the rule `rule` sets the key.
    pub fn is_given(&self, rule: &Rule) -> bool {
        (self.is_given)(rule)
    }
}

/// Returns the path of a key in a configuration. If `rule` is given, the key is in the rule at this index. Otherwise it
/// is in `[quantize]`.
pub(super) fn place(rule: Option<usize>, name: &str) -> KeyPath {
    let quantize = KeyPath::of(&["quantize"]);
    let table = rule.map_or(quantize.clone(), |index| quantize.key("rule").index(index));
    name.split('.').fold(table, KeyPath::key)
}

/// The path of a rule in a configuration.
pub(super) fn rule_place(index: usize) -> KeyPath {
    KeyPath::of(&["quantize", "rule"]).index(index)
}

impl Rule {
    /// True if the rule chooses layers. Other rules choose only tensors.
    pub fn selects_layers(&self) -> bool {
        !self.layers.is_empty() || !self.op.is_empty() || self.between.is_some()
    }

    /// True if the rule applies to the target `target`.
    pub fn is_for(&self, target: &str) -> bool {
        self.target.is_empty() || self.target.iter().any(|id| id == target)
    }

    /// True if the rule applies only to some operands or results of the layers that it chooses.
    pub fn selects_ports(&self) -> bool {
        !self.operands.is_empty() || !self.results.is_empty()
    }

    /// True if the rule sets a range, an observer or settings of an observer.
    pub fn ranges(&self) -> bool {
        self.range.is_some() || self.observer.is_some() || self.observer_options.is_given()
    }

    /// Overwrites every key that `later` sets. The key `reason` is taken over only together with the key `run`.
    fn overlay(&mut self, later: &Rule) {
        if later.run.is_some() {
            self.reason.clone_from(&later.reason);
        }
        // A rule has either a range or an observer: the later one replaces the earlier one.
        if later.observer.is_some() {
            self.range = None;
        }
        KEYS.iter().for_each(|key| (key.take)(self, later));
    }
}

impl Quantize {
    /// Combines the rules with the indices `matched` into one rule. The indices are in ascending order.
    pub fn together<'a>(&self, matched: impl IntoIterator<Item = &'a usize>) -> Rule {
        let rules = matched.into_iter().filter_map(|&index| self.rule.get(index));
        rules.fold(Rule::default(), |mut together, rule| {
            together.overlay(rule);
            together
        })
    }

    /// The index of the last rule in `matched` that sets a key.
    pub fn last(&self, matched: &[usize], key: &RuleKey) -> Option<usize> {
        let sets = |index: &usize| self.rule.get(*index).is_some_and(|rule| key.is_given(rule));
        matched.iter().copied().rfind(sets)
    }

    /// Returns the rule that makes a layer run in float. Of the rules in `matched`, the last one that says where the
    /// layer runs decides. Returns `None` if it does not say `float`.
    pub fn in_float(&self, matched: &[usize]) -> Option<usize> {
        let says = |index: &usize| Some((*index, self.rule.get(*index)?.run?));
        let (index, run) = matched.iter().rev().find_map(says)?;
        (run == Run::Float).then_some(index)
    }

    /// Returns the path of the key `name` in the last rule of `matched` that sets the key. If no rule sets the key,
    /// returns the path of the key in `[quantize]`. The indices in `matched` are in ascending order.
    pub fn asks(&self, matched: &[usize], name: &str) -> KeyPath {
        let key = KEYS.iter().find(|key| key.name == name);
        place(key.and_then(|key| self.last(matched, key)), name)
    }

    /// Returns the type that rules choose for a layer's weights. If a rule makes the layer run in float, only this rule
    /// and later ones are considered, because earlier rules chose the type for a layer that computes in integers.
    pub(super) fn weight_type(&self, matched: &[usize]) -> Option<Integer> {
        let first = self.in_float(matched).unwrap_or(0);
        let meant = matched.iter().filter(|&&index| index >= first);
        self.together(meant).weights.ty
    }
}

#[cfg(test)]
mod tests {
    use strait_target::spec::Observer;

    use super::{super::Range, *};

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
        let expected = rule(Some(Run::Float), Some(Observer::Mse), Some([0.0, 1.0]));
        assert_eq!(quantize.together(&[0, 1]), expected);
        let run = Some(Run::Auto);
        assert_eq!(quantize.together(&[0, 1, 2]), Rule { run, ..expected });
        // The range comes either from an observer or from the rule itself, so a later observer replaces the stated
        // range.
        let observed = rule(run, Some(Observer::MinMax), None);
        assert_eq!(quantize.together(&[0, 1, 2, 3]), observed);
        assert_eq!(quantize.together(&[]), Rule::default());
    }
}
