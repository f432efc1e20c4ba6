//! The kit: one report with all checks that show a vendor whether a target is right.
//!
//! Each line of the report is about one kind of fault, such as wrong rounding at ties, a wrong shift, a kernel that
//! refuses what its row accepts, a read past the input, a panic, a hang, or results that change from call to call. So
//! different faults show on different lines.
//!
//! If a target is only a table, the host's kernels compute its forms. These kernels are not checked, since they would
//! only be compared with their own definitions. The report says so. With recorded vectors, the table is compared with a
//! chip.

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
mod network;
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

/// A file with recorded layers.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Path of the file.
    pub file: String,
    /// SHA-256 of the file. Tables name the file by this digest.
    pub sha256: String,
    /// The layers in the file.
    pub vectors: Vectors,
}

/// Shows the user how far an examination has come.
pub trait ExaminationProgress: fmt::Debug {
    /// Called when a part of the examination begins. It has `steps` steps.
    fn begin(&self, part: &str, steps: usize);
    /// Called when `done` steps of the part are done.
    fn advance(&self, done: usize);
}

/// Ignores the progress of an examination.
impl ExaminationProgress for () {
    fn begin(&self, _: &str, _: usize) {}
    fn advance(&self, _: usize) {}
}

/// The settings of an examination.
#[derive(Clone, Copy, Debug)]
pub struct Examination<'a> {
    /// Values of the target's options. Options that are absent have their defaults.
    pub options: &'a Options,
    /// The library that the target comes from, if it comes from one.
    pub library: Option<&'a Library>,
    /// Layers that were recorded on the chip, which the table is compared with.
    pub recordings: &'a [Recording],
    /// How long one call of the target's code may take. A call that takes longer counts as hanging.
    pub patience: Duration,
    /// Shows the user how far the examination has come.
    pub progress: &'a dyn ExaminationProgress,
}

/// Examines a target, which takes seconds. The report for a target is always the same, unless the target's results
/// differ from run to run.
///
/// # Errors
/// If the target cannot be made with these options.
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
    // The functions that were called after the tests of tiles may also have changed the library's process, so the state
    // of the process is compared again.
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

/// Makes the variants of the target: one for each value of an option that changes the table and is not already chosen.
/// If a variant cannot be made, the table is at fault. This variant is then left out here, and the lines about the
/// table report the fault.
fn variants(entry: &Entry, chosen: &Options, spec: &TargetSpec) -> Vec<(String, Arc<dyn Target>)> {
    let others = table::overlays(spec).filter(|(option, value)| spec.chosen.get(*option) != Some(*value));
    let variants = others.filter_map(|(option, value)| {
        let mut options = chosen.clone();
        options.insert(option.clone(), value.clone());
        Some((format!("{option} = {value}"), entry.target(&options).ok()?))
    });
    variants.collect()
}
