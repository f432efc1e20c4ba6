//! Finds the statistics that the observers in rules need, and makes an error for each observer that cannot be used
//! where a rule chooses it.

use std::collections::BTreeSet;

use strait_core::{Module, ValueId};
use strait_document::KeyPath;
use strait_quantize::{ObserverChoice, Requests, observers::is_ranked};
use strait_target::spec::{CodeKind, Observed, Observer};

use super::{Quantize, RuleError, RuleErrors, Rules, Selection, keys::rule_place};

/// Requests the statistics that annotation always needs, and those that the observers in rules need in addition.
///
/// # Errors
/// An observer cannot make an integer range for a value for which it is chosen, or a value does not have the axis that
/// the observer's settings name.
pub fn requests(module: &Module, rules: &Rules, selection: &Selection) -> Result<Requests, RuleErrors> {
    let quantize = &rules.quantize;
    let mut requests = Requests::all(module, module.main);
    let mut found = RuleErrors(default_refused(rules).into_iter().collect());
    let mut told = BTreeSet::new();
    let graph = module.main();
    let values = selection.values.iter().map(|(&value, rules)| (value, rules.clone()));
    let operands = selection.operands.keys().filter_map(|&at| selection.read(graph, at));
    for (value, matched) in values.chain(operands) {
        let of = Of { module, value };
        for &index in &matched {
            if !told.contains(&index)
                && let Some(error) = of.refused(quantize, index)
            {
                told.insert(index);
                found.0.push(error);
            }
        }
        let said = quantize.together(&matched);
        let Some(observer) = said.observer else { continue };
        let options = said.observer_options.or(&rules.observer_options);
        let choice = ObserverChoice { observer, options };
        match choice.needs(of.rank()) {
            Some(kinds) => kinds.into_iter().for_each(|kind| requests.value(value, kind)),
            None => found
                .0
                .push(of.without_axis(quantize, &matched, choice.options.axis.unwrap_or(-1))),
        }
    }
    found.or(requests)
}

/// The error if the default observer, which is used for all activations without a rule, cannot be used for activations.
fn default_refused(rules: &Rules) -> Option<RuleError> {
    let observer = rules.observer?;
    let text = observer.refusal(Observed::Activations, CodeKind::Integers)?;
    let key = KeyPath::of(&["calibration", "observer"]);
    Some(with_help(observer, RuleError::unsupported(key, text)))
}

fn with_help(observer: Observer, error: RuleError) -> RuleError {
    match observer.serves(Observed::Ranked, CodeKind::Integers) {
        true => error.help("give it to the outputs whose largest elements are read, under `tensors` of a rule"),
        false => error,
    }
}

/// A value for which rules choose an observer.
#[derive(Clone, Copy)]
struct Of<'a> {
    module: &'a Module,
    value: ValueId,
}

impl Of<'_> {
    fn name(&self) -> &str {
        let value = self.module.main().value(self.value);
        value.map_or("", |value| self.module.name(value.name))
    }

    fn rank(&self) -> usize {
        let value = self.module.main().value(self.value);
        value.map_or(0, |value| value.ty.shape.len())
    }

    /// The error if the observer of a rule cannot make a range for the value.
    fn refused(&self, quantize: &Quantize, rule: usize) -> Option<RuleError> {
        let observer = quantize.rule.get(rule)?.observer?;
        let text = observer.refusal(Observed::Activations, CodeKind::Integers)?;
        let for_ranked = observer.serves(Observed::Ranked, CodeKind::Integers);
        if for_ranked && is_ranked(self.module.main(), self.value) {
            return None;
        }
        let error = RuleError::unsupported(rule_place(rule).key("observer"), text);
        let error = match for_ranked {
            true => error.note(format!("layers compute with {:?}, or nobody reads it", self.name())),
            false => error,
        };
        Some(with_help(observer, error))
    }

    fn without_axis(&self, quantize: &Quantize, matched: &[usize], axis: i64) -> RuleError {
        let says = |&&index: &&usize| {
            quantize
                .rule
                .get(index)
                .is_some_and(|rule| rule.observer_options.axis.is_some())
        };
        let table = match matched.iter().rev().find(says) {
            Some(&index) => rule_place(index),
            None => KeyPath::of(&["calibration"]),
        };
        let message = format!("{:?} has no axis {axis}", self.name());
        let help = format!("it has {} axes, counted from 0, or from -1 at the last", self.rank());
        RuleError::wrong(table.key("observer_options").key("axis"), message).help(help)
    }
}
