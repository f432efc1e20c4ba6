//! Statistics that the observers of a configuration read.

use std::collections::BTreeSet;

use strait_core::{Module, ValueId};
use strait_quantize::{ObserverChoice, Requests, observers::is_ranked};
use strait_target::spec::{Codes, Observed, Observer};

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::selection::Selection;

/// Requests for the statistics that annotating reads, and those that the configuration's observers read besides.
///
/// # Errors
/// Observers that make no ranges of integers for the values that they are chosen for, and axes that these do not have.
pub(super) fn requests(module: &Module, loaded: &Loaded, selection: &Selection) -> Result<Requests, Diagnostics> {
    let mut requests = Requests::all(module, module.main);
    let mut findings: Vec<Diagnostic> = default_refused(loaded).into_iter().collect();
    let mut told = BTreeSet::new();
    let graph = module.main();
    let values = selection.values.iter().map(|(&value, rules)| (value, rules.clone()));
    let operands = selection.operands.keys().filter_map(|&at| selection.read(graph, at));
    for (value, rules) in values.chain(operands) {
        let of = Of { module, value };
        for &index in &rules {
            if !told.contains(&index)
                && let Some(finding) = of.refused(loaded, index)
            {
                told.insert(index);
                findings.push(finding);
            }
        }
        let settings = loaded.config.quantize.settings(&rules);
        let Some(observer) = settings.observer else { continue };
        let options = settings
            .observer_options
            .or(&loaded.config.calibration.observer_options);
        let choice = ObserverChoice { observer, options };
        match choice.needs(of.rank()) {
            Some(kinds) => kinds.into_iter().for_each(|kind| requests.value(value, kind)),
            None => findings.push(of.without_axis(loaded, &rules, choice.options.axis.unwrap_or(-1))),
        }
    }
    if findings.is_empty() {
        Ok(requests)
    } else {
        Err(Diagnostics(findings))
    }
}

/// The observer of `[calibration]` is for every activation.
fn default_refused(loaded: &Loaded) -> Option<Diagnostic> {
    let observer = loaded.config.calibration.observer?;
    let text = observer.refusal(Observed::Activations, Codes::Integers)?;
    let path = KeyPath::of(&["calibration", "observer"]);
    Some(with_help(observer, loaded.error(codes::UNSUPPORTED, &path, text, "")))
}

fn with_help(observer: Observer, finding: Diagnostic) -> Diagnostic {
    match observer.serves(Observed::Ranked, Codes::Integers) {
        true => finding.help("give it to the outputs whose largest elements are read, under `tensors` of a rule"),
        false => finding,
    }
}

/// A value that rules are for.
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
        self.module
            .main()
            .value(self.value)
            .map_or(0, |value| value.ty.shape.len())
    }

    /// Finding where the observer of a rule makes no ranges for the value.
    fn refused(&self, loaded: &Loaded, rule: usize) -> Option<Diagnostic> {
        let observer = loaded.config.quantize.rule.get(rule)?.observer?;
        let text = observer.refusal(Observed::Activations, Codes::Integers)?;
        let for_ranked = observer.serves(Observed::Ranked, Codes::Integers);
        if for_ranked && is_ranked(self.module.main(), self.value) {
            return None;
        }
        let path = KeyPath::of(&["quantize", "rule"]).index(rule).key("observer");
        let finding = loaded.error(codes::UNSUPPORTED, &path, text, "");
        let finding = match for_ranked {
            true => finding.note(format!("layers compute with {:?}, or nobody reads it", self.name())),
            false => finding,
        };
        Some(with_help(observer, finding))
    }

    fn without_axis(&self, loaded: &Loaded, rules: &[usize], axis: i64) -> Diagnostic {
        let says = |&&index: &&usize| {
            let rule = loaded.config.quantize.rule.get(index);
            rule.is_some_and(|rule| rule.observer_options.axis.is_some())
        };
        let table = match rules.iter().rev().find(says) {
            Some(&index) => KeyPath::of(&["quantize", "rule"]).index(index),
            None => KeyPath::of(&["calibration"]),
        };
        let message = format!("{:?} has no axis {axis}", self.name());
        let path = table.key("observer_options").key("axis");
        let finding = loaded.error(codes::RULE, &path, message, "");
        finding.help(format!(
            "it has {} axes, counted from 0, or from -1 at the last",
            self.rank()
        ))
    }
}
