//! The kit: everything by which a vendor knows that a target is right, as lines of one report.
//!
//! Each line is one thing that can be wrong, so that a fault fails its own: a rounding at ties, a shift, a kernel that refuses
//! what a row accepts, a read past the input, a panic, a hang, results that change from call to call. Of a target that is a
//! table alone the report says what was not checked, since the host's kernels compute their own definitions; with recorded
//! vectors it is held against a chip.

mod class;
mod fault;
mod interface;
mod kernels;
mod lines;
mod networks;
mod silicon;
mod table;
mod watch;

pub use lines::{Group, Kit, Line};

use std::time::Duration;
use strait_identify::Vectors;
use strait_plugin_host::Library;
use strait_target::{Entry, Options, RegistryError};

use kernels::Source;

/// Means of an examination.
#[derive(Clone, Copy, Debug)]
pub struct Examination<'a> {
    /// Values of the target's options; absent ones have their defaults.
    pub options: &'a Options,
    /// The library that the target comes from.
    pub library: Option<&'a Library>,
    /// Recorded layers, with the file that they come from.
    pub vectors: &'a [(String, Vectors)],
    /// Time that one call of the target's code may take before it counts as one that hangs.
    pub patience: Duration,
}

/// Examines a target. It takes seconds, and gives the same report for the same target, unless that one's results change.
///
/// # Errors
/// A target that cannot be made with these options.
pub fn examine(entry: &Entry, how: &Examination<'_>) -> Result<Kit, RegistryError> {
    let target = entry.target(how.options)?;
    let spec = target.spec();
    let mut lines = table::lines(entry, spec);
    if let Some(library) = how.library {
        let (its, faults) = interface::lines(library, &*target);
        lines.extend(its);
        lines.extend(kernels::lines(&target, Source::Model, faults, how.patience));
    } else {
        let why = "the target is no library";
        lines.push(Line::skipped(Group::Interface, "the C interface", why));
        lines.extend(match entry.has_code() {
            true => kernels::lines(&target, Source::Loops, Vec::new(), how.patience),
            false => kernels::of_a_table(),
        });
    }
    // A kernel that hangs would do so here, too. A library's target runs on the host's.
    let hangs = |line: &Line| line.name == fault::Subject::Hangs.name() && !line.findings.is_empty();
    if how.library.is_none() && lines.iter().any(hangs) {
        lines.push(Line::skipped(Group::Networks, "six networks", "a kernel hangs"));
    } else {
        lines.extend(networks::lines(&target));
    }
    match how.vectors {
        [] => lines.push(Line::skipped(Group::Silicon, "recorded vectors", "none were given")),
        files => lines.extend(
            files
                .iter()
                .flat_map(|(file, vectors)| silicon::lines(&target, file, &vectors.layers)),
        ),
    }
    lines.sort_by_key(|line| line.group);
    Ok(Kit {
        target: spec.id.clone(),
        version: spec.version.clone(),
        origin: entry.origin().to_string(),
        lines,
    })
}
