//! Compares the codes that a library returns with the codes that the form defines, and reports everything else that
//! went wrong in a call.

use super::{
    fault::{Fault, Subject, differing},
    part::Part,
};
use crate::placed::decoded;
use strait_plugin_host::{Misdeed, Tried};
use strait_requantize::Requantization;

/// Compares the codes of one call with the codes that the form defines, and adds everything that went wrong in the call
/// to `faults`.
pub(super) fn judge(form: &Requantization, part: &Part, tried: &Tried, faults: &mut Vec<Fault>) {
    let name = part.name();
    let mut steady = true;
    let mut find = |fault: Fault| fault.add_to(faults);
    for misdeed in &tried.misdeeds {
        let fault = of_misdeed(form, part, misdeed);
        steady &= !fault.subject.is_unsteady();
        find(fault);
    }
    if !steady {
        return;
    }
    let codes = decoded(form.out(), &tried.codes);
    if codes.len() != part.accumulators.len() {
        return find(Fault::new(Subject::Rows, format!("{name}: another number of codes")));
    }
    let scalars: Vec<_> = (0..form.channels().unwrap_or(1))
        .map(|at| form.channel(at).ok())
        .collect();
    let expected: Vec<Option<i32>> = (0..codes.len())
        .map(|at| {
            let (channel, accumulator) = part.place(scalars.len(), at);
            let scalars = scalars.get(channel)?.as_ref()?;
            let (low, high) = scalars.domain().into_inner();
            // For an accumulator outside of the form's domain, the right result is the result for the nearer end of the
            // domain.
            scalars.eval(accumulator.clamp(low, high)).ok()
        })
        .collect();
    for (at, found, expected) in differing(&codes, &expected) {
        find(Fault::wrong(form, name, part.place(scalars.len(), at), expected, found));
    }
}

fn of_misdeed(form: &Requantization, part: &Part, misdeed: &Misdeed) -> Fault {
    let name = part.name();
    let place = |at: u64| {
        let (channel, accumulator) = part.place(form.channels().unwrap_or(1), usize::try_from(at).unwrap_or(0));
        format!("the accumulator {accumulator} of channel {channel}")
    };
    let (subject, text) = match misdeed {
        Misdeed::Before => (Subject::Writes, "it writes in front of the codes".to_owned()),
        Misdeed::Behind => (Subject::Writes, "it writes behind the codes".into()),
        Misdeed::Accumulators => (
            Subject::Writes,
            "it writes into the accumulators, or beside them".into(),
        ),
        Misdeed::Structs => (Subject::Writes, "it writes into the form or the tile".into()),
        Misdeed::Unwritten { at } => (Subject::Unwritten, format!("no code is written for {}", place(*at))),
        Misdeed::Again {
            at,
            codes: [one, other],
        } => (
            Subject::Determinism,
            format!("{} gives {one} and, called again, {other}", place(*at)),
        ),
        Misdeed::Around {
            at,
            codes: [one, other],
        } => (
            Subject::Reads,
            format!(
                "{} gives {one}, and {other} where something else lies around them",
                place(*at)
            ),
        ),
        Misdeed::Together {
            at,
            codes: [one, other],
            ..
        } => (
            Subject::Concurrency,
            format!("{} gives {one} and, at once with others, {other}", place(*at)),
        ),
    };
    Fault::new(subject, format!("{name}: {text}"))
}
