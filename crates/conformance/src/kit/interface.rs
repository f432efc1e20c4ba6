//! Tests how a library answers calls through its C interface that come from hosts of other versions or make no sense.

use super::{
    ExaminationProgress,
    fault::{Fault, Subject},
    lines::{Group, HUNG, Line},
};
use crate::{numbers::Numbers, samples};
use strait_plugin_host::{About, Library, Probe};
use strait_requantize::Requantization;
use strait_target::Target;

/// What the tests of the interface found.
pub(super) struct Interface {
    /// Number of calls with bytes that are not a model.
    pub(super) garbage: usize,
    /// The lines of the report about the interface.
    pub(super) lines: Vec<Line>,
    /// Faults that are listed on other lines of the report.
    pub(super) faults: Vec<Fault>,
}

impl Interface {
    /// True if a call did not return.
    pub(super) fn hangs(&self) -> bool {
        self.faults.iter().any(|fault| fault.subject == Subject::Hangs)
    }
}

/// Calls a library in every way in which a host of another version might call it. After a call that hangs, nothing more
/// is called.
pub(super) fn examined(library: &Library, target: &dyn Target, progress: &dyn ExaminationProgress) -> Interface {
    let line = |name| Line::new(Group::Interface, name);
    let (package, [major, minor]) = (&library.description().package, library.description().interface);
    let mut its = Interface {
        lines: vec![
            line("entry, versions and table").checked(format!("{package}, interface {major}.{minor}")),
            line("other versions"),
            line("smaller and larger structs"),
            line("no arguments"),
            line("several targets"),
        ],
        faults: Vec::new(),
        garbage: 0,
    };
    if let Err(hang) = probed(library, target, progress, &mut its) {
        its.faults.push(*hang);
        let without = its.lines.iter_mut().skip(1).filter(|line| line.findings.is_empty());
        without.for_each(|line| line.skipped = Some(HUNG.into()));
    }
    its
}

/// Makes all test calls with a form of the target. The error is the fault of a call that hangs.
fn probed(
    library: &Library,
    target: &dyn Target,
    progress: &dyn ExaminationProgress,
    its: &mut Interface,
) -> Result<(), Box<Fault>> {
    progress.begin("interface", Probe::all().count());
    let with = form(target)?;
    let call = |probe| {
        let Some((row, form)) = &with else { return Ok(None) };
        let answer = library.probe(&target.spec().chosen, (row, form), probe);
        let fault = answer.unwrap_or_else(|error| Some(error.to_string()));
        match fault.map(|fault| format!("{probe}: {fault}")) {
            Some(fault) if Fault::is_hang(&fault) => {
                Err(Box::new(Fault::new(Subject::Hangs, fault).on(row, form, None)))
            }
            fault => Ok(fault),
        }
    };
    // If a normal call fails, other lines of the report say so.
    let works = with.is_some() && call(Probe::Plain)?.is_none();
    let mut counts = [0; 5];
    for (done, probe) in Probe::all().enumerate() {
        progress.advance(done);
        let Some((row, form)) = with.as_ref().filter(|_| works || !probe.requantizes()) else {
            continue;
        };
        let fault = call(probe)?;
        let at = match probe.about() {
            About::Versions => 1,
            About::Sizes => 2,
            About::Nulls => 3,
            About::Targets => 4,
            About::Garbage => {
                its.garbage += usize::from(library.description().emits.is_some());
                let fault = fault.map(|fault| Fault::new(Subject::Garbage, fault).on(row, form, None));
                its.faults.extend(fault);
                continue;
            }
        };
        counts[at] += 1;
        fault.into_iter().for_each(|fault| its.lines[at].find(fault));
    }
    for (line, count) in its.lines.iter_mut().zip(counts).skip(1) {
        line.checked = format!("{count} calls");
        if !works {
            line.checked += "; none of requantize, which fails on a plain tile";
        }
    }
    Ok(())
}

/// Finds a requantization that the library computes, if possible one with several channels. Returns it with the name of
/// its row. If the library computes no requantization, returns one that the library refuses. A call that hangs is
/// returned as a fault.
fn form(target: &dyn Target) -> Result<Option<(&str, Requantization)>, Box<Fault>> {
    let (mut its, mut any) = (None, None);
    for (name, row) in &target.spec().form {
        let samples = samples::samples(row, &mut Numbers::new(name)).into_iter();
        let legal = samples.filter(|(form, clamp)| clamp.is_none() && row.accepts(form, None).is_ok());
        let (mut of_any, mut of_its): (Chosen, Chosen) = Default::default();
        for (form, _) in legal {
            of_any.take(&form);
            match target.own_loops(&form, None) {
                Ok(Some(_)) => of_its.take(&form),
                Ok(None) => {}
                Err(error) => {
                    let fault = Fault::refused(&form, &error);
                    if fault.subject == Subject::Hangs {
                        return Err(Box::new(fault.on(name, &form, None)));
                    }
                }
            }
            if of_its.several.is_some() {
                break;
            }
        }
        any = any.or(of_any.best().map(|form| (name.as_str(), form)));
        its = its.or(of_its.best().map(|form| (name.as_str(), form)));
    }
    Ok(its.or(any))
}

/// The first requantization that was found, and the first one with several channels.
#[derive(Default)]
struct Chosen {
    first: Option<Requantization>,
    several: Option<Requantization>,
}

impl Chosen {
    fn take(&mut self, form: &Requantization) {
        if form.channels().is_some_and(|channels| channels > 1) {
            self.several.get_or_insert_with(|| form.clone());
        }
        self.first.get_or_insert_with(|| form.clone());
    }

    fn best(self) -> Option<Requantization> {
        self.several.or(self.first)
    }
}
