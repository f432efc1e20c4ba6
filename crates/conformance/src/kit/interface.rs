//! Tests the C interface of a library: what the library answers to hosts of other versions, and to calls that make no
//! sense.

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
    let [major, minor] = library.interface();
    let mut its = Interface {
        lines: vec![
            line("entry, versions and table").checked(format!("{}, interface {major}.{minor}", library.package())),
            line("other versions"),
            line("smaller and larger structs"),
            line("no arguments"),
            line("several targets"),
        ],
        faults: Vec::new(),
        garbage: 0,
    };
    progress.begin("interface", Probe::all().count());
    let forms = match forms(target) {
        Ok(forms) => forms,
        Err(fault) => {
            its.faults.push(*fault);
            skip(&mut its.lines[1..]);
            return its;
        }
    };
    let mut counts = [0; 5];
    let call = |(row, form): &(&str, Requantization), probe| {
        let answer = library.probe(&target.spec().chosen, (*row, form), probe);
        let fault = answer.unwrap_or_else(|error| Some(error.to_string()));
        fault.map(|fault| format!("{probe}: {fault}"))
    };
    // If a plain call fails, it is reported on other lines.
    let plain = forms.first().and_then(|form| Some((form, call(form, Probe::Plain)?)));
    if let Some(((row, form), fault)) = plain.as_ref().filter(|(_, fault)| Fault::is_hang(fault)) {
        its.faults.push(Fault::new(Subject::Hangs, fault).on(row, form, None));
        skip(&mut its.lines[1..]);
        return its;
    }
    let works = !forms.is_empty() && plain.is_none();
    for (done, probe) in Probe::all().enumerate() {
        progress.advance(done);
        if probe.requantizes() && !works {
            continue;
        }
        let subject = match probe.about() {
            About::Versions => Ok(1),
            About::Sizes => Ok(2),
            About::Nulls => Ok(3),
            About::Targets => Ok(4),
            About::Garbage => Err(Subject::Garbage),
        };
        if let Some(form) = forms.first() {
            let fault = call(form, probe);
            let (row, its_form) = form;
            if let Some(fault) = fault.as_ref().filter(|fault| Fault::is_hang(fault)) {
                its.faults
                    .push(Fault::new(Subject::Hangs, fault).on(row, its_form, None));
                skip(&mut its.lines[1..]);
                return its;
            }
            match subject {
                Ok(at) => {
                    counts[at] += 1;
                    fault.into_iter().for_each(|fault| its.lines[at].find(fault));
                }
                Err(subject) => {
                    its.garbage += usize::from(library.emits().is_some());
                    its.faults
                        .extend(fault.map(|fault| Fault::new(subject, fault).on(row, its_form, None)));
                }
            }
        }
    }
    for (line, count) in its.lines.iter_mut().zip(counts).skip(1) {
        line.checked = format!("{count} calls");
        if !works {
            line.checked += "; none of requantize, which fails on a plain tile";
        }
    }
    its
}

/// Marks the lines without a fault as not checked.
fn skip(lines: &mut [Line]) {
    let without = lines.iter_mut().filter(|line| line.findings.is_empty());
    without.for_each(|line| line.skipped = Some(HUNG.into()));
}

/// For each form, returns a requantization that the library computes, if possible one with several channels. If the
/// library computes none of the form's requantizations, returns one that it refuses. A call that hangs is returned as a
/// fault.
fn forms(target: &dyn Target) -> Result<Vec<(&str, Requantization)>, Box<Fault>> {
    let (mut its, mut any) = (Vec::new(), Vec::new());
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
            if of_its.is_complete() {
                break;
            }
        }
        any.extend(of_any.best().map(|form| (name.as_str(), form)));
        its.extend(of_its.best().map(|form| (name.as_str(), form)));
    }
    Ok(if its.is_empty() { any } else { its })
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

    fn is_complete(&self) -> bool {
        self.several.is_some()
    }

    fn best(self) -> Option<Requantization> {
        self.several.or(self.first)
    }
}
