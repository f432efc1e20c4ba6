//! Makes the report's lines about kernels from the faults and from the counts of what was checked.

use super::{
    class::Class,
    fault::{Fault, Subject, subject},
    lines::{Group, HUNG, Line},
};
use crate::runs::SPREAD;
use std::collections::{BTreeMap, BTreeSet};
use strait_requantize::IntType;
use strait_target::{TargetSpec, spec::Integer};

/// Counts of what was checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    of: BTreeMap<Subject, u64>,
    /// Number of requantizations that were checked.
    pub(super) requantizations: u64,
    /// Number of requantizations that a library does not compute but leaves to the host.
    pub(super) left: u64,
}

impl Counts {
    /// Adds `more` to the number of things that were checked for a line of the report.
    pub(super) fn count(&mut self, subject: Subject, more: usize) {
        *self.of.entry(subject).or_default() += more as u64;
    }

    /// Adds accumulators of the given classes to the counts of the lines for these classes.
    pub(super) fn classes(&mut self, classes: impl Iterator<Item = Class>) {
        let mut of = [0; 4];
        classes.for_each(|class| of[class as usize] += 1);
        for class in [Class::Tie, Class::Edge, Class::Extreme, Class::Threshold] {
            self.count(subject(class), of[class as usize]);
        }
    }

    /// Adds `calls` to the total number of calls, and to the number of calls for each report line in `lines`.
    pub(super) fn calls(&mut self, calls: usize, lines: &[Subject]) {
        self.count(Subject::Panics, calls);
        lines.iter().for_each(|&line| self.count(line, calls));
    }

    pub(super) fn add(&mut self, other: &Counts) {
        for (&subject, &more) in &other.of {
            *self.of.entry(subject).or_default() += more;
        }
        self.requantizations += other.requantizations;
        self.left += other.left;
    }

    /// The number of things that were checked for a line of the report.
    fn of(&self, subject: Subject) -> u64 {
        let subject = match subject {
            Subject::Rows | Subject::Hangs => Subject::Panics,
            subject => subject,
        };
        self.of.get(&subject).copied().unwrap_or(0)
    }
}

/// Returns the faults of the forms of one row, without those that are only consequences of other faults.
///
/// If results change from call to call, or if some results are not written at all, this also causes faults of these
/// kinds: wrong arithmetic, faults on several threads, faults in other processes, and reads past the input. If results
/// differ from process to process, this also causes wrong arithmetic.
pub(super) fn explained(faults: Vec<Fault>) -> impl Iterator<Item = Fault> {
    let has = |subjects: &[Subject]| faults.iter().any(|fault| subjects.contains(&fault.subject));
    let unsteady = has(&[Subject::Determinism, Subject::Unwritten]);
    let by_process = has(&[Subject::Processes]);
    let follows = move |subject: Subject| match subject {
        Subject::Reads | Subject::Concurrency | Subject::Processes => unsteady,
        subject if Subject::SEMANTICS.contains(&subject) => unsteady || by_process,
        _ => false,
    };
    faults.into_iter().filter(move |fault| !follows(fault.subject))
}

/// The data from which the texts of the lines are made: the table, numbers for the whole target, and why some lines
/// could not be checked.
pub(super) struct Said<'a> {
    pub(super) spec: &'a TargetSpec,
    /// Number of instruction sets on which the loops ran.
    pub(super) sets: usize,
    /// Returns the reason why a line could not be checked; `None` if it could.
    pub(super) never: &'a dyn Fn(Subject) -> Option<&'a str>,
}

/// The lines of the report about what the kernels compute and how their code behaves.
pub(super) fn lines(faults: &[Fault], counts: &Counts, said: &Said<'_>) -> Vec<Line> {
    all(|group, subject| {
        let mut line = found(Line::new(group, subject.name()), faults, subject);
        let why = match (said.never)(subject) {
            None if counts.of(subject) == 0 => Some("nothing that was tried is of this kind"),
            why => why,
        };
        line.skipped = why.filter(|_| line.findings.is_empty()).map(Into::into);
        line.checked(about(subject, counts, said))
    })
}

fn about(subject: Subject, counts: &Counts, said: &Said<'_>) -> String {
    let (number, forms) = (counts.of(subject), said.spec.form.len());
    match subject {
        Subject::Rows => {
            let text = format!("{} requantizations of {forms} forms", counts.requantizations);
            match counts.left {
                0 => text,
                left => format!("{text}, {left} of which the library has no model of"),
            }
        }
        Subject::Thresholds => format!("{number} accumulators{}", spread(said.spec)),
        Subject::Ties | Subject::Extremes | Subject::Edges => format!("{number} accumulators"),
        Subject::Channels => format!("{number} channels"),
        Subject::Loops if said.sets > 0 => format!("{number} results on {} instruction sets", said.sets),
        Subject::Loops => format!("{number} results"),
        Subject::Garbage
        | Subject::Writes
        | Subject::Unwritten
        | Subject::Reads
        | Subject::Determinism
        | Subject::Concurrency
        | Subject::Processes
        | Subject::Traces
        | Subject::Panics
        | Subject::Hangs => format!("{number} calls"),
    }
}

fn found(mut line: Line, faults: &[Fault], subject: Subject) -> Line {
    let its = faults.iter().filter(|fault| fault.subject == subject);
    its.for_each(|fault| line.find(fault.text.clone()));
    line
}

fn all(line: impl Fn(Group, Subject) -> Line) -> Vec<Line> {
    let semantics = Subject::SEMANTICS.map(|subject| line(Group::Semantics, subject));
    let robustness = Subject::ROBUSTNESS.map(|subject| line(Group::Robustness, subject));
    semantics.into_iter().chain(robustness).collect()
}

/// The lines of the report if a call has hung. Faults that were found before the call are listed. All lines without
/// such a fault say that they were not checked.
pub(super) fn of_one_that_hangs(faults: &[Fault]) -> Vec<Line> {
    all(|group, subject| {
        let mut line = found(Line::skipped(group, subject.name(), HUNG), faults, subject);
        if !line.findings.is_empty() {
            line.skipped = None;
        }
        line
    })
}

/// The lines for a target without code. Nothing is checked, since the host's kernels would be compared with their own
/// definitions.
pub(super) fn of_a_table() -> Vec<Line> {
    all(|group, subject| {
        let why = match group {
            Group::Semantics => "the host computes its own definition",
            _ => "a table has no code",
        };
        Line::skipped(group, subject.name(), why)
    })
}

/// Says that some thresholds were left out, if the table has results of more than 8 bits.
fn spread(spec: &TargetSpec) -> String {
    let outputs: BTreeSet<Integer> = spec.form.values().flat_map(|row| row.output.clone()).collect();
    let wider = |least: u8, most: u8| {
        let its = outputs
            .iter()
            .filter(|&&of| (least..=most).contains(&IntType::from(of).bits()));
        its.map(|of| of.name()).collect::<Vec<_>>().join(" and ")
    };
    let mut text = String::new();
    for (types, of) in [
        (wider(9, 16), "of each of several channels"),
        (wider(17, 32), "of each channel"),
    ] {
        if !types.is_empty() {
            text += &format!("; of {types} at {SPREAD} thresholds {of}");
        }
    }
    text
}
