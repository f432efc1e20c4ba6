//! Shows the effect of the configuration.

use std::fmt;

use strait_report::{KeyReport, Report, RuleReport};

use crate::table;

/// A line that says where a key took effect, such as `KEY = VALUE in 3 of 5 (2 by rule 4)`.
fn line(key: &KeyReport) -> String {
    let (of, name, value) = (key.of, &key.key, &key.value);
    let taken = of - key.otherwise.len().min(of);
    match taken == of {
        true => format!("{name} = {value} in {of}"),
        false => format!("{name} = {value} in {taken} of {of} ({})", others(key)),
    }
}

/// Says how often other settings overrode the key, and which settings did.
fn others(key: &KeyReport) -> String {
    let mut by: Vec<(&str, usize)> = Vec::new();
    for otherwise in &key.otherwise {
        match by.iter_mut().find(|(known, _)| *known == otherwise.by) {
            Some((_, count)) => *count += 1,
            None => by.push((&otherwise.by, 1)),
        }
    }
    let by: Vec<String> = by.into_iter().map(|(by, count)| format!("{count} by {by}")).collect();
    by.join(", ")
}

/// How many layers, operands and tensors a rule applies to.
fn chosen(rule: &RuleReport) -> String {
    let counts = [
        (rule.layers.len(), "layer"),
        (rule.operands.len(), "operand"),
        // If a rule names layers, the tensors that it applies to are the results of these layers, so only the layers
        // are counted.
        (if rule.layers.is_empty() { rule.tensors.len() } else { 0 }, "tensor"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| table::count(count, what)).collect();
    match counts.is_empty() {
        true => "nothing".to_owned(),
        false => counts.join(", "),
    }
}

/// A line for each rule, and for each key of `[quantize]` that something overrides.
pub(super) fn write(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    for key in report.quantize.iter().filter(|key| !key.otherwise.is_empty()) {
        writeln!(f, "[quantize]: {}", line(key))?;
    }
    for (index, rule) in report.rules.iter().enumerate() {
        let reason = rule
            .reason
            .as_deref()
            .map_or_else(String::new, |reason| format!(" ({reason})"));
        let keys: Vec<String> = rule.keys.iter().map(line).collect();
        writeln!(f, "rule {}{reason}: {}; {}", index + 1, chosen(rule), keys.join("; "))?;
    }
    Ok(())
}
