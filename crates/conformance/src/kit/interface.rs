//! The C interface of a library: what it answers to hosts of other versions, and to calls that make no sense.

use super::{
    fault::{Fault, Subject},
    lines::{Group, Line},
};
use crate::{numbers::Numbers, samples};
use strait_plugin_host::{About, Library, Probe};
use strait_requantize::Requantization;
use strait_target::Target;

/// The lines about the interface, and the faults that belong to others.
pub(super) fn lines(library: &Library, target: &dyn Target) -> (Vec<Line>, Vec<Fault>) {
    let line = |name| Line::new(Group::Interface, name);
    let [major, minor] = library.interface();
    let mut lines = vec![
        line("entry, versions and table").checked(format!("{}, interface {major}.{minor}", library.package())),
        line("other versions"),
        line("smaller and larger structs"),
        line("no arguments"),
    ];
    let mut faults = Vec::new();
    let forms = forms(target);
    let mut counts = [0; 4];
    let call = |(row, form): &(&str, Requantization), probe| {
        let answer = library.probe(&target.spec().chosen, (*row, form), probe);
        let fault = answer.unwrap_or_else(|error| Some(error.to_string()));
        fault.map(|fault| format!("{probe}: {fault}"))
    };
    // What fails anyway has lines of its own.
    let works = forms.first().is_some_and(|form| call(form, Probe::Plain).is_none());
    for probe in Probe::all().filter(|probe| works || !probe.requantizes()) {
        let subject = match probe.about() {
            About::Versions => Ok(1),
            About::Sizes => Ok(2),
            About::Nulls => Ok(3),
            About::Garbage => Err(Subject::Garbage),
            About::Reads => Err(Subject::Reads),
        };
        // What lies behind the input may matter to one form and not to another.
        let forms = if subject == Err(Subject::Reads) {
            &forms[..]
        } else {
            forms.get(..1).unwrap_or_default()
        };
        for form in forms {
            let fault = call(form, probe);
            match subject {
                Ok(at) => {
                    counts[at] += 1;
                    fault.into_iter().for_each(|fault| lines[at].find(fault));
                }
                Err(subject) => {
                    let (row, form) = form;
                    faults.extend(fault.map(|fault| Fault::new(subject, fault).on(row, form, None)));
                }
            }
        }
    }
    for (line, count) in lines.iter_mut().zip(counts).skip(1) {
        line.checked = format!("{count} calls");
        if !works {
            line.checked += "; none of requantize, which fails on a plain tile";
        }
    }
    (lines, faults)
}

/// A requantization of each form, of several channels where there is one, that the library computes; of each form one that
/// it does not compute, where it computes none.
fn forms(target: &dyn Target) -> Vec<(&str, Requantization)> {
    let of = |name, row, own: bool| {
        let samples = samples::samples(row, &mut Numbers::new(name));
        let mut samples = samples.into_iter().filter(|(form, clamp)| {
            clamp.is_none()
                && row.accepts(form, None).is_ok()
                && (!own || matches!(target.own_loops(form, None), Ok(Some(_))))
        });
        let first = samples.next()?;
        let several = samples.find(|(form, _)| form.channels().is_some_and(|channels| channels > 1));
        Some((name, several.unwrap_or(first).0))
    };
    let all = |own| -> Vec<(&str, Requantization)> {
        let rows = target.spec().form.iter();
        rows.filter_map(|(name, row)| of(name.as_str(), row, own)).collect()
    };
    let its = all(true);
    if its.is_empty() { all(false) } else { its }
}
