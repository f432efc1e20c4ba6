//! Faults of a kernel. Each fault belongs to a line of the report, on which it is listed.

use super::class::Class;
use strait_core::Attribute;
use strait_kernels::KernelError;
use strait_requantize::Requantization;
use strait_target::TargetError;

/// The checks of kernels. Each of them has a line in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Rows,
    Thresholds,
    Ties,
    Extremes,
    Edges,
    Channels,
    Loops,
    Garbage,
    Writes,
    Unwritten,
    Reads,
    Determinism,
    Concurrency,
    Processes,
    Traces,
    Panics,
    Hangs,
}

impl Subject {
    /// The lines of the report that are about what the kernels compute.
    pub(super) const SEMANTICS: [Subject; 7] = [
        Subject::Rows,
        Subject::Thresholds,
        Subject::Ties,
        Subject::Extremes,
        Subject::Edges,
        Subject::Channels,
        Subject::Loops,
    ];

    /// The lines of the report that are about how the kernels' code behaves.
    pub(super) const ROBUSTNESS: [Subject; 10] = [
        Subject::Garbage,
        Subject::Writes,
        Subject::Unwritten,
        Subject::Reads,
        Subject::Determinism,
        Subject::Concurrency,
        Subject::Processes,
        Subject::Traces,
        Subject::Panics,
        Subject::Hangs,
    ];

    /// True for faults that make results differ from call to call. If a kernel has such a fault, its wrong results do
    /// not prove that its arithmetic is wrong.
    pub(super) fn is_unsteady(self) -> bool {
        matches!(self, Subject::Determinism | Subject::Unwritten)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Rows => "kernels take what rows accept",
            Subject::Thresholds => "thresholds and their predecessors",
            Subject::Ties => "ties",
            Subject::Extremes => "extremes",
            Subject::Edges => "edges of the domain",
            Subject::Channels => "each channel by its own integers",
            Subject::Loops => "every loop",
            Subject::Garbage => "garbage is refused",
            Subject::Writes => "no write outside of the results",
            Subject::Unwritten => "every result is written",
            Subject::Reads => "no read past the input",
            Subject::Determinism => "the same result each time",
            Subject::Concurrency => "several threads at once",
            Subject::Processes => "the same in each process",
            Subject::Traces => "its process stays as it was",
            Subject::Panics => "no panic",
            Subject::Hangs => "no hang",
        }
    }
}

/// A fault, and the line of the report on which it is listed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) subject: Subject,
    pub(super) text: String,
}

impl Fault {
    pub(super) fn new(subject: Subject, text: impl Into<String>) -> Fault {
        Fault {
            subject,
            text: text.into(),
        }
    }

    /// Adds the fault to `faults`, unless `faults` already has a fault for the same line of the report.
    pub(super) fn add_to(self, faults: &mut Vec<Fault>) {
        if faults.iter().all(|known| known.subject != self.subject) {
            faults.push(self);
        }
    }

    /// Makes the fault for a wrong result.
    pub(super) fn wrong(
        form: &Requantization,
        run: &str,
        (channel, accumulator): (usize, i64),
        expected: i32,
        found: i32,
    ) -> Fault {
        let class = form
            .channel(channel)
            .map(|channel| super::class::of(&channel, accumulator));
        let subject = match class.unwrap_or(Class::Threshold) {
            Class::Tie => Subject::Ties,
            // The result may come from the parameters of another channel. This can happen in every channel except the
            // first.
            _ if of_another_channel(form, channel, accumulator, found) => Subject::Channels,
            class => subject(class),
        };
        let text = format!("{run}: the accumulator {accumulator} of channel {channel} gives {found}, not {expected}");
        Fault::new(subject, text)
    }

    /// The fault for a call that failed although the kernel had no reason to refuse.
    pub(super) fn failed(run: &str, error: &KernelError) -> Fault {
        Fault::said(run, &error.to_string(), Subject::Rows)
    }

    /// The fault for a target that does not prepare loops for a form.
    pub(super) fn refused(form: &Requantization, error: &TargetError) -> Fault {
        match error {
            TargetError::Wrong {
                channel,
                accumulator,
                expected,
                found,
                ..
            } => Fault::wrong(form, "requantize", (*channel, *accumulator), *expected, *found),
            error => Fault::said("prepare", &error.to_string(), Subject::Rows),
        }
    }

    /// Makes the fault that reports an error message. If the message is about a panic, the fault is listed on the
    /// report's line for panics, and otherwise on the line `otherwise`. A panic in a target's code arrives here as a
    /// message, too.
    pub(super) fn said(run: &str, message: &str, otherwise: Subject) -> Fault {
        let beyond = ["out of range", "out of bounds"];
        let subject = match message.split_once("panicked") {
            Some((_, said)) if beyond.iter().any(|text| said.contains(text)) => Subject::Reads,
            Some(_) => Subject::Panics,
            // These messages are about the process in which a library runs.
            None if Fault::is_hang(message) => Subject::Hangs,
            None if Fault::is_end(message) => Subject::Panics,
            None => otherwise,
        };
        Fault::new(subject, format!("{run}: {message}"))
    }

    /// True if a message says that a library's process ended, or that its answers make no sense.
    pub(super) fn is_end(message: &str) -> bool {
        let ends = [
            " crashed: ",
            " ended the process",
            " closed its pipe",
            " answered with ",
        ];
        ends.iter().any(|text| message.contains(text))
    }

    /// True if a message says that a library's process did not answer in time.
    pub(super) fn is_hang(message: &str) -> bool {
        message.contains(" did not return within ")
    }

    /// Adds the form and the clamp with which the fault happened to the fault's text.
    pub(super) fn on(mut self, name: &str, form: &Requantization, clamp: Option<[i32; 2]>) -> Fault {
        let form = Attribute::Form(Box::new(form.clone())).to_string();
        let shortened: String = form.chars().take(160).collect();
        let dots = if shortened.len() < form.len() { "…" } else { "" };
        let clamp = clamp.map_or_else(String::new, |[low, high]| format!(", clamp [{low}, {high}]"));
        self.text = format!("form {name}: {} ({shortened}{dots}{clamp})", self.text);
        self
    }
}

/// At most this many wrong results of one call are examined, since each of them is compared with the results of every
/// other channel.
const LOOKED_AT: usize = 256;

/// Finds the results that are wrong. Returns the position, the wrong result and the expected result of each of them. If
/// there are many, returns only a few of them, evenly spread.
pub(super) fn differing(found: &[i32], expected: &[Option<i32>]) -> impl Iterator<Item = (usize, i32, i32)> {
    let both = found.iter().zip(expected).enumerate();
    let all: Vec<(usize, i32, i32)> = both
        .filter_map(|(at, (&found, &expected))| Some((at, found, expected.filter(|&expected| expected != found)?)))
        .collect();
    let step = all.len().div_ceil(LOOKED_AT).max(1);
    all.into_iter().step_by(step)
}

/// True if the wrong result is the right one for the same accumulator in another channel.
fn of_another_channel(form: &Requantization, channel: usize, accumulator: i64, found: i32) -> bool {
    let channels = form.channels().unwrap_or(1);
    (0..channels).any(|other| other != channel && form.eval(other, accumulator) == Ok(found))
}

/// The line of the report under which accumulators of this class are checked.
pub(crate) fn subject(class: Class) -> Subject {
    match class {
        Class::Tie => Subject::Ties,
        Class::Edge => Subject::Edges,
        Class::Extreme => Subject::Extremes,
        Class::Threshold => Subject::Thresholds,
    }
}
