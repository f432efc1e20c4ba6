//! The kit: everything by which a vendor knows that a target is right, as lines of one report.
//!
//! Each line is one thing that can be wrong, so that a fault fails its own: a rounding at ties, a shift, a kernel that refuses
//! what a row accepts, a read past the input, a panic, a hang, results that change from call to call. Of a target that is a
//! table alone the report says what was not checked, since the host's kernels compute their own definitions; with recorded
//! vectors it is held against a chip.

mod class;
mod emit;
mod evidence;
mod fault;
mod functions;
mod fusions;
mod interest;
mod interface;
mod judge;
mod kernels;
mod left_behind;
mod lines;
mod networks;
mod outcome;
mod part;
mod processes;
mod rows;
mod silicon;
mod table;
mod tiles;
mod watch;
mod witness;

pub use lines::{Group, Kit, Line};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use strait_identify::Vectors;
use strait_plugin_host::Library;
use strait_target::{Entry, Options, RegistryError, Target, TargetSpec};

use processes::Processes;
use witness::Witness;

/// A file of recorded layers.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file.
    pub file: String,
    /// Its SHA-256, as tables name it.
    pub sha256: String,
    /// Its layers.
    pub vectors: Vectors,
}

/// Whoever shows how far an examination is.
pub trait ExaminationProgress: fmt::Debug {
    /// A part of so many steps begins.
    fn begin(&self, part: &str, steps: usize);
    /// So many of them are done.
    fn advance(&self, done: usize);
}

/// Nobody does.
impl ExaminationProgress for () {
    fn begin(&self, _: &str, _: usize) {}
    fn advance(&self, _: usize) {}
}

/// Means of an examination.
#[derive(Clone, Copy, Debug)]
pub struct Examination<'a> {
    /// Values of the target's options; absent ones have their defaults.
    pub options: &'a Options,
    /// The library that the target comes from.
    pub library: Option<&'a Library>,
    /// Recorded layers.
    pub recordings: &'a [Recording],
    /// Time that one call of the target's code may take before it counts as one that hangs.
    pub patience: Duration,
    /// Whoever is shown how far it is.
    pub progress: &'a dyn ExaminationProgress,
}

/// Examines a target. It takes seconds, and gives the same report for the same target, unless that one's results change.
///
/// # Errors
/// A target that cannot be made with these options.
pub fn examine(entry: &Entry, how: &Examination<'_>) -> Result<Kit, RegistryError> {
    let target = entry.target(how.options)?;
    let spec = target.spec();
    let mut lines = table::lines(entry, spec);
    let witness;
    if let Some(library) = how.library {
        library.fence();
        let (others, line) = Processes::start(library, &spec.chosen);
        lines.push(line);
        let mut interface = interface::examined(library, &*target, how.progress);
        let hangs = interface.hangs();
        lines.append(&mut interface.lines);
        lines.extend(match hangs {
            true => outcome::of_one_that_hangs(&interface.faults),
            false => tiles::lines(&*target, library, interface, &others, how.progress),
        });
        witness = Arc::new(Witness::new(target.clone(), others.into_target(how.options)));
    } else {
        let why = "the target is no library";
        lines.push(Line::skipped(Group::Interface, "the C interface", why));
        witness = Arc::new(Witness::new(target.clone(), None));
        lines.extend(match entry.has_code() {
            true => kernels::lines(&(witness.clone() as Arc<dyn Target>), how),
            false => outcome::of_a_table(),
        });
    }
    let hangs = |line: &Line| line.name == fault::Subject::Hangs.name() && !line.findings.is_empty();
    if lines.iter().any(hangs) {
        lines.push(Line::skipped(Group::Functions, "functions", lines::HUNG));
        lines.push(Line::skipped(Group::Networks, "small networks", lines::HUNG));
        lines.push(silicon::named(spec, how.recordings));
        lines.push(Line::skipped(Group::Silicon, "recorded vectors", lines::HUNG));
        return Ok(kit(entry, spec, lines));
    }
    let (networks, seen) = networks::lines(&witness, &variants(entry, how.options, spec), how.progress);
    lines.extend(networks);
    // Functions that were called after the tiles may have changed the process, too.
    if let Some(Ok([before, now])) = how.library.map(|library| library.traces(&spec.chosen))
        && let Some(line) = lines.iter_mut().find(|line| line.name == fault::Subject::Traces.name())
        && line.findings.is_empty()
    {
        let found = left_behind::settings(&before, &now);
        found.into_iter().for_each(|fault| line.find(fault));
    }
    lines.extend(match how.library {
        Some(library) => functions::of_library(library, &witness, &seen),
        None if entry.has_code() => functions::of_program(&witness, &seen),
        None => vec![functions::of_a_table()],
    });
    lines.push(silicon::named(spec, how.recordings));
    match how.recordings {
        [] => lines.push(Line::skipped(Group::Silicon, "recorded vectors", "none were given")),
        recordings => lines.extend(silicon::lines(&target, recordings, how.progress)),
    }
    Ok(kit(entry, spec, lines))
}

fn kit(entry: &Entry, spec: &TargetSpec, mut lines: Vec<Line>) -> Kit {
    lines.sort_by_key(|line| line.group);
    Kit {
        target: spec.id.clone(),
        version: spec.version.clone(),
        origin: entry.origin().to_string(),
        lines,
    }
}

/// The target with each other value of an option that has an overlay. One that cannot be made is the table's fault, and told there.
fn variants(entry: &Entry, chosen: &Options, spec: &TargetSpec) -> Vec<(String, Arc<dyn Target>)> {
    let mut variants = Vec::new();
    for (option, values) in &spec.overlay {
        let allowed = spec.options.get(option).and_then(|row| row.one_of.as_ref());
        for value in allowed.into_iter().flatten() {
            if !values.contains_key(&value.to_string()) || spec.chosen.get(option) == Some(value) {
                continue;
            }
            let mut options = chosen.clone();
            options.insert(option.clone(), value.clone());
            if let Ok(target) = entry.target(&options) {
                variants.push((format!("{option} = {value}"), target));
            }
        }
    }
    variants
}
