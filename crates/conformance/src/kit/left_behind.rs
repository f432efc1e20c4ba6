//! Checks whether calls of a library leave changes behind in its process.

use super::fault::{Fault, Subject};
use strait_plugin_host::Traces;

/// The number of bytes by which a process may grow during some thousand calls before the growth counts as a fault. The
/// system itself may use some memory.
const GROWTH: u64 = 96 << 10;

/// Compares the state of a process before the library was loaded, after some thousand calls, and after some thousand
/// more.
pub(super) fn left_behind(before: &Traces, early: &Traces, late: &Traces) -> Vec<Fault> {
    let mut found = settings(before, late);
    let grows = [
        ("threads", early.threads, late.threads, 0),
        ("open files", early.files, late.files, 0),
        ("processes", before.children, late.children, 0),
        ("bytes of memory", early.memory, late.memory, GROWTH),
    ];
    for (what, first, last, some) in grows {
        if last > first + some {
            found.push(format!("{what} become more from call to call: {first}, later {last}"));
        }
    }
    found
        .into_iter()
        .map(|text| Fault::new(Subject::Traces, text))
        .collect()
}

/// The settings of the process that have changed since the library was loaded.
pub(super) fn settings(before: &Traces, late: &Traces) -> Vec<String> {
    let both = before
        .settings
        .iter()
        .filter_map(|(name, was)| Some((name, was, late.settings.get(name)?)));
    let differing = both.filter(|(_, was, is)| was != is);
    let text = |(name, was, is)| format!("{name}: {was} before the library was loaded, {is} after it was called");
    differing.map(text).collect()
}
