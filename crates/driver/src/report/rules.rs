//! Effect of the configuration: of each rule, and of what `[quantize]` says of all layers.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Report;
use crate::table;

/// A rule of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleReport {
    /// Reason for the rule, as the configuration gives it.
    pub reason: Option<String>,
    /// The layers of the canonical model that it holds for.
    pub layers: Vec<String>,
    /// The operands that it holds for, as `operand N of LAYER`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<String>,
    /// The tensors that it holds for, results of these layers included.
    pub tensors: Vec<String>,
    /// The keys that it sets.
    #[serde(default)]
    pub keys: Vec<KeyReport>,
}

/// Effect of a key of a rule, or of `[quantize]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyReport {
    /// The key: `activations.type`.
    pub key: String,
    /// Its value in the configuration.
    pub value: Value,
    /// Number of layers, operands and tensors that have a use for it, among those that it is for.
    pub of: usize,
    /// Those that have something else in the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Otherwise>,
}

/// A layer, an operand or a tensor for which a key gave way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otherwise {
    /// Its name.
    pub name: String,
    /// The word for that which it has instead; absent where that is not to be seen in its grids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
    /// Who says so: `rule N`, counted from 1, or the `target`, by its table or because it cannot run it.
    pub by: String,
}

impl KeyReport {
    /// `KEY = VALUE in 3 of 5 (2 by rule 4)`.
    fn line(&self) -> String {
        let (of, value) = (self.of, &self.value);
        let taken = of - self.otherwise.len().min(of);
        let key = &self.key;
        match taken == of {
            true => format!("{key} = {value} in {of}"),
            false => format!("{key} = {value} in {taken} of {of} ({})", self.others()),
        }
    }

    /// Those who say otherwise, and of how many.
    fn others(&self) -> String {
        let mut by: Vec<(&str, usize)> = Vec::new();
        for otherwise in &self.otherwise {
            match by.iter_mut().find(|(known, _)| *known == otherwise.by) {
                Some((_, count)) => *count += 1,
                None => by.push((&otherwise.by, 1)),
            }
        }
        let by: Vec<String> = by.into_iter().map(|(by, count)| format!("{count} by {by}")).collect();
        by.join(", ")
    }
}

impl RuleReport {
    fn chosen(&self) -> String {
        let counts = [
            (self.layers.len(), "layer"),
            (self.operands.len(), "operand"),
            // The results of its layers are tensors of theirs.
            (if self.layers.is_empty() { self.tensors.len() } else { 0 }, "tensor"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| table::count(count, what)).collect();
        match counts.is_empty() {
            true => "nothing".to_owned(),
            false => counts.join(", "),
        }
    }
}

/// A line for each rule, and for each key of `[quantize]` that gives way.
pub(super) fn write(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    for key in report.quantize.iter().filter(|key| !key.otherwise.is_empty()) {
        writeln!(f, "[quantize]: {}", key.line())?;
    }
    for (index, rule) in report.rules.iter().enumerate() {
        let reason = rule
            .reason
            .as_deref()
            .map_or_else(String::new, |reason| format!(" ({reason})"));
        let keys: Vec<String> = rule.keys.iter().map(KeyReport::line).collect();
        writeln!(f, "rule {}{reason}: {}; {}", index + 1, rule.chosen(), keys.join("; "))?;
    }
    Ok(())
}
