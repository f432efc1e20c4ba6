//! Passes the rules of a configuration to the compiler. If the compiler reports errors in rules, this module finds the
//! lines of these rules.

use strait_compile::rules::{RuleErrors, Rules};
use strait_document::{Diagnostic, Diagnostics};

use super::{Loaded, types::Config};

impl Config {
    /// All settings for layers, operands and tensors.
    pub fn rules(&self) -> Rules {
        let ranges = self
            .input
            .iter()
            .filter_map(|(name, input)| Some((name.clone(), input.range?)));
        Rules {
            quantize: self.quantize.clone(),
            observer: self.calibration.observer,
            observer_options: self.calibration.observer_options.clone(),
            inputs: ranges.collect(),
        }
    }
}

impl Loaded {
    /// Converts errors in rules to diagnostics, which have the lines of the rules.
    pub fn told(&self, found: RuleErrors) -> Diagnostics {
        let told = found.0.into_iter().map(|found| Diagnostic {
            notes: found.notes,
            help: found.help,
            ..self.error(found.code, &found.key, found.message, "")
        });
        Diagnostics(told.collect())
    }
}
