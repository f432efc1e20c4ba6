//! Makes the report's line for each function of the interface. The line says how often the function was called and with
//! what, or why it was not called.

use super::{
    emit::Emitted,
    lines::{Group, Line},
    networks::Seen,
    witness::Witness,
};
use std::collections::BTreeSet;
use strait_plugin_host::Library;
use strait_target::{Target, spec::Format, spec::Verb};

/// Makes a line of the report for each function of a library. The lines have the names from `strait_plugin.h`.
pub(super) fn of_library(library: &Library, target: &Witness, seen: &Seen) -> Vec<Line> {
    let (calls, has) = (library.calls(), library.description());
    let number = |call: &str| calls.get(call).copied().unwrap_or(0);
    let plain = |name: &str, call: &str, has: bool| {
        let line = Line::new(Group::Functions, name);
        match number(call) {
            _ if !has => skipped(line, "the library has none"),
            0 => skipped(line, "not called"),
            calls => line.checked(times(calls)),
        }
    };
    vec![
        plain("strait_plugin_entry", "its entry", true),
        plain("open", "open", has.opens),
        plain("close", "close", has.closes),
        plain("requantize", "requantize", has.requantizes),
        emit(has.emits.is_some(), target, &seen.emitted),
        admits(has.admits, number("admits"), seen),
    ]
}

/// Makes a line of the report for each method of a target that is part of the program.
pub(super) fn of_program(target: &Witness, seen: &Seen) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, why) in [
        ("spec", "not called"),
        ("loops", "not called"),
        ("own_loops", "its loops are its own model of its arithmetic"),
        ("models", "its loops are its own model of its arithmetic"),
    ] {
        lines.push(counted(target, name, why));
    }
    lines.push(admits(true, target.calls("admits"), seen));
    let has_custom = |verb: &Verb| matches!(verb, Verb::Custom(_));
    let mut verbs = target.spec().fusion.iter().flat_map(|row| &row.then);
    let why = match verbs.any(has_custom) {
        true => "no network of the kit comes to a row with a verb of its own",
        false => "no row of the table has a verb of its own",
    };
    lines.push(counted(target, "custom", why));
    lines.push(emit(true, target, &seen.emitted));
    lines.push(counted(target, "counts_outputs", "the kit reads no record"));
    lines.push(counted(
        target,
        "recorded",
        "the kit has no record of the vendor's tool",
    ));
    lines
}

/// Makes the line of the report for a target that is only a table and has no functions.
pub(super) fn of_a_table() -> Line {
    Line::skipped(Group::Functions, "functions", "a table has no code")
}

fn counted(target: &Witness, name: &str, why: &str) -> Line {
    let line = Line::new(Group::Functions, name);
    match target.calls(name) {
        0 => skipped(line, why),
        calls => line.checked(times(calls)),
    }
}

fn times(calls: u64) -> String {
    format!("called {calls} times")
}

fn skipped(line: Line, why: impl Into<String>) -> Line {
    Line {
        skipped: Some(why.into()),
        ..line
    }
}

fn emit(has: bool, target: &Witness, emitted: &Emitted) -> Line {
    let mut line = Line::new(Group::Functions, "emit");
    if !has {
        return skipped(line, "the library has none");
    }
    if !target.spec().emit.contains(&Format::Package) {
        return skipped(line, "not called: the table does not say emit = [\"package\"]");
    }
    emitted.faults.iter().cloned().for_each(|fault| line.find(fault));
    emitted.same_of_two().into_iter().for_each(|fault| line.find(fault));
    if emitted.networks() == 0 && line.findings.is_empty() {
        let why = emitted
            .refused
            .first()
            .map_or("no network was compiled", String::as_str);
        return skipped(line, format!("it refuses every network: {why}"));
    }
    let calls = times(target.calls("emit"));
    line.checked(format!("{calls}: {}, the same each time", emitted.summary()))
}

fn admits(has: bool, calls: u64, seen: &Seen) -> Line {
    let mut line = Line::new(Group::Functions, "admits");
    if !has {
        return skipped(line, "the library has none");
    }
    for disagreement in seen.nodes.iter().flat_map(|nodes| &nodes.disagreements) {
        line.find(disagreement.clone());
    }
    let asked: usize = seen.nodes.iter().map(|nodes| nodes.asked.len()).sum();
    let refused: Vec<&str> = seen
        .nodes
        .iter()
        .flat_map(|nodes| nodes.refused().map(|(_, why)| why))
        .collect();
    if asked > 0 && refused.len() == asked {
        let why = refused.first().copied().unwrap_or_default();
        line.find(format!(
            "it refuses all {asked} nodes of the networks that the table takes, and so leaves nothing to the target: {why}"
        ));
    }
    if asked == 0 && line.findings.is_empty() {
        return skipped(line, "not called: the table takes no node of the networks");
    }
    let reasons: BTreeSet<&str> = refused.iter().copied().collect();
    let first = reasons
        .first()
        .map_or_else(String::new, |why| format!(", as in: {why}"));
    let text = format!(
        "{}: {asked} nodes of {} networks, {} refused{first}",
        times(calls),
        seen.nodes.len(),
        refused.len()
    );
    line.checked(text)
}
