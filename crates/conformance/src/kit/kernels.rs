//! The target's kernels: what they compute, and how their code behaves.

use super::{
    Examination,
    class::{self, Class},
    fault::{Fault, Subject},
    lines::{Group, HUNG, Line},
    watch::{Alive, Lost, watched},
};
use crate::{
    expected,
    numbers::Numbers,
    runs::{Run, SPREAD},
    samples,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use strait_kernels::{Context, Isa, KernelError, integer::Loops};
use strait_requantize::{IntType, Requantization};
use strait_target::{Target, TargetError, TargetSpec, spec::Integer};

/// Kernels that are the target's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Those that run.
    Loops,
    /// A library's model of its arithmetic, which stands beside the host's loops.
    Model,
}

/// Numbers of what was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    results: u64,
    /// All calls, and of these the ones of each line that makes calls of its own.
    calls: u64,
    repeated: u64,
    reads: u64,
    garbage: u64,
    together: u64,
    /// Accumulators of each [`Class`].
    classes: [u64; 4],
    /// Channels of requantizations that have several.
    channels: u64,
    /// Requantizations of which a library has no model.
    left: u64,
}

/// The lines of both groups, with the faults that were found before.
pub(super) fn lines(
    target: &Arc<dyn Target>,
    source: Source,
    mut faults: Vec<Fault>,
    &Examination { patience, progress, .. }: &Examination<'_>,
) -> Vec<Line> {
    // A library's worker has a clock of its own, for each call.
    let watch = (source == Source::Loops).then_some(patience);
    let mut counts = Counts::default();
    let (mut requantizations, mut done) = (0, 0);
    let rows = target.spec().form.iter();
    let all: Vec<_> = rows
        .map(|(name, row)| (name, row, samples::samples(row, &mut Numbers::new(name))))
        .collect();
    progress.begin("requantizations", all.iter().map(|(.., samples)| samples.len()).sum());
    let mut hangs = false;
    for (name, row, samples) in all {
        if hangs {
            break;
        }
        let before = faults.len();
        for (form, clamp) in samples {
            done += 1;
            progress.advance(done);
            if let Err(reason) = row.accepts(&form, clamp) {
                faults.push(Fault::new(Subject::Rows, reason.text).on(name, &form, clamp));
                continue;
            }
            requantizations += 1;
            let (of, its, seed) = (target.clone(), form.clone(), format!("{name} {requantizations}"));
            let answer = watched(watch, move |alive| {
                probe(&*of, source, &its, clamp, &mut Numbers::new(&seed), alive)
            });
            match answer {
                Ok((found, counted)) => {
                    hangs = has_hung(&found);
                    faults.extend(found.into_iter().map(|fault| fault.on(name, &form, clamp)));
                    counts.add(&counted);
                    if hangs {
                        break;
                    }
                }
                Err(Lost::Ended) => {
                    let fault = Fault::new(Subject::Panics, "its thread ended without an answer");
                    faults.push(fault.on(name, &form, clamp));
                    break;
                }
                Err(Lost::Hung) => {
                    hangs = true;
                    let text = format!("no answer after {} s; nothing else was tried", patience.as_secs_f32());
                    faults.push(Fault::new(Subject::Hangs, text).on(name, &form, clamp));
                    break;
                }
            }
        }
        let its = faults.split_off(before);
        // What differs from call to call is not wrong at this threshold or that, nor because of what it reads.
        let unsteady = its.iter().any(|fault| fault.subject == Subject::Determinism);
        faults.extend(its.into_iter().filter(|fault| !unsteady || fault.subject.is_of_code()));
    }
    if hangs {
        return of_one_that_hangs(&faults);
    }
    let forms = target.spec().form.len();
    let none = requantizations == 0 || counts.left == requantizations;
    let of = |subject: Subject| counts.of(subject);
    let about = |subject: Subject| match subject {
        Subject::Rows if counts.left > 0 => {
            let left = counts.left;
            format!("{requantizations} requantizations of {forms} forms, {left} of which the library has no model of")
        }
        Subject::Rows => format!("{requantizations} requantizations of {forms} forms"),
        Subject::Thresholds => format!("{} accumulators{}", of(subject), spread(target.spec())),
        Subject::Ties | Subject::Extremes | Subject::Edges => format!("{} accumulators", of(subject)),
        Subject::Channels => format!("{} channels", of(subject)),
        Subject::Loops => format!("{} results on {} instruction sets", of(subject), contexts(source).len()),
        Subject::Garbage
        | Subject::Concurrency
        | Subject::Determinism
        | Subject::Reads
        | Subject::Panics
        | Subject::Hangs => format!("{} calls", of(subject)),
    };
    let line = |group: Group, subject: Subject| {
        let mut line = Line::new(group, subject.name());
        let its = faults.iter().filter(|fault| fault.subject == subject);
        its.for_each(|fault| line.find(fault.text.clone()));
        let why = if none && source == Source::Model {
            Some("the library computes none of its forms")
        } else if subject == Subject::Concurrency && source == Source::Model {
            Some("calls of a library come one after the other")
        } else if of(subject) == 0 {
            Some("nothing that was tried is of this kind")
        } else {
            None
        };
        line.skipped = why.filter(|_| line.findings.is_empty()).map(Into::into);
        line.checked(about(subject))
    };
    all_lines(line)
}

/// The lines of both groups.
fn all_lines(line: impl Fn(Group, Subject) -> Line) -> Vec<Line> {
    let semantics = Subject::SEMANTICS.map(|subject| line(Group::Semantics, subject));
    let robustness = Subject::ROBUSTNESS.map(|subject| line(Group::Robustness, subject));
    semantics.into_iter().chain(robustness).collect()
}

/// The lines after a call that hung, with the faults that were found until then: nothing else is known.
pub(super) fn of_one_that_hangs(faults: &[Fault]) -> Vec<Line> {
    all_lines(|group, subject| {
        let mut line = Line::skipped(group, subject.name(), HUNG);
        let its = faults.iter().filter(|fault| fault.subject == subject);
        its.for_each(|fault| line.find(fault.text.clone()));
        if !line.findings.is_empty() {
            line.skipped = None;
        }
        line
    })
}

/// Thresholds that are left out, of results of more than 8 bits.
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

/// The same lines for a target without code: what would be held against the definitions is the definitions.
pub(super) fn of_a_table() -> Vec<Line> {
    all_lines(|group, subject| {
        let why = match group {
            Group::Semantics => "the host computes its own definition",
            _ => "a table has no code",
        };
        Line::skipped(group, subject.name(), why)
    })
}

impl Counts {
    /// Things that a line looked at.
    fn of(&self, subject: Subject) -> u64 {
        let of = |class: Class| self.classes[class as usize];
        match subject {
            Subject::Rows | Subject::Panics | Subject::Hangs => self.calls,
            Subject::Thresholds => of(Class::Threshold),
            Subject::Ties => of(Class::Tie),
            Subject::Extremes => of(Class::Extreme),
            Subject::Edges => of(Class::Edge),
            Subject::Channels => self.channels,
            Subject::Loops => self.results,
            Subject::Garbage => self.garbage,
            Subject::Concurrency => self.together,
            Subject::Determinism => self.repeated,
            Subject::Reads => self.reads,
        }
    }

    fn add(&mut self, other: &Counts) {
        self.results += other.results;
        self.calls += other.calls;
        self.repeated += other.repeated;
        self.reads += other.reads;
        self.garbage += other.garbage;
        self.together += other.together;
        self.channels += other.channels;
        self.left += other.left;
        for (all, its) in self.classes.iter_mut().zip(other.classes) {
            *all += its;
        }
    }
}

/// Everything about one requantization.
fn probe(
    target: &dyn Target,
    source: Source,
    form: &Requantization,
    clamp: Option<[i32; 2]>,
    numbers: &mut Numbers,
    alive: Alive<'_>,
) -> (Vec<Fault>, Counts) {
    let mut counts = Counts::default();
    let loops = match prepared(target, source, form, clamp) {
        Ok(Some(loops)) => loops,
        Ok(None) => {
            counts.left = 1;
            return (Vec::new(), counts);
        }
        Err(fault) => return (vec![fault], counts),
    };
    let mut faults = Vec::new();
    if loops.out() != form.out() {
        let text = format!("the loops write {}, not {}", loops.out(), form.out());
        return (vec![Fault::new(Subject::Rows, text)], counts);
    }
    counts.channels = form.channels().filter(|&channels| channels > 1).unwrap_or(0) as u64;
    let mut runs = Run::all(form, numbers);
    runs.extend(Run::thresholds(form, clamp));
    for run in &runs {
        let Ok(expect) = expected(form, clamp, run) else {
            continue;
        };
        let channels: Vec<_> = (0..run.channels()).map(|channel| form.channel(channel).ok()).collect();
        for at in 0..run.len() {
            let (channel, accumulator) = run.accumulator(at);
            if let Some(Some(channel)) = channels.get(channel) {
                counts.classes[class::of(channel, accumulator) as usize] += 1;
            }
        }
        for context in contexts(source) {
            counts.calls += 2;
            counts.repeated += 2;
            let call = || {
                let results = run.results(&*loops, &context);
                alive();
                results
            };
            match [call(), call()] {
                [Ok(first), Ok(again)] => {
                    counts.results += first.len() as u64;
                    if first != again {
                        let at = first.iter().zip(&again).position(|(a, b)| a != b).unwrap_or_default();
                        let (channel, accumulator) = run.accumulator(at);
                        let (run, a, b) = (run.name(), first[at], again[at]);
                        let text = format!(
                            "{run}: the accumulator {accumulator} of channel {channel} gives {a} and, called again, {b}"
                        );
                        faults.push(Fault::new(Subject::Determinism, text));
                        continue;
                    }
                    let differing = (0..first.len()).filter(|&at| first[at] != expect[at]);
                    // One of each line is enough.
                    for at in differing {
                        let fault = Fault::wrong(form, run.name(), run.accumulator(at), expect[at], first[at]);
                        if faults.iter().all(|known: &Fault| known.subject != fault.subject) {
                            faults.push(fault);
                        }
                    }
                }
                [Err(error), _] | [_, Err(error)] => {
                    let fault = Fault::failed(run.name(), &error);
                    let hangs = fault.subject == Subject::Hangs;
                    let crashes = source == Source::Model && fault.subject == Subject::Panics;
                    faults.push(fault);
                    // Each further call would take as long, or a new worker.
                    if hangs || crashes {
                        return (faults, counts);
                    }
                }
            }
        }
    }
    faults.extend(lengths(&*loops, form, numbers, &mut counts));
    alive();
    if has_hung(&faults) {
        return (faults, counts);
    }
    faults.extend(garbage(&*loops, form, &mut counts));
    alive();
    // A worker takes one call after the other.
    if let Some(run) = runs.first().filter(|_| source == Source::Loops) {
        faults.extend(together(&*loops, run, &mut counts));
    }
    (faults, counts)
}

/// True if the target is not to be called again.
fn has_hung(faults: &[Fault]) -> bool {
    faults.iter().any(|fault| fault.subject == Subject::Hangs)
}

/// The instruction sets on which loops are run. A library's model has none of the host's.
fn contexts(source: Source) -> Vec<Context> {
    match source {
        Source::Loops => Isa::available().map(Context::with_isa).collect(),
        Source::Model => vec![Context::detect()],
    }
}

/// Calls of the function that prepares loops which are made before a wrong result counts as one.
const TRIES: usize = 3;

/// The loops of a requantization; `None` where a library has no model of it.
fn prepared(
    target: &dyn Target,
    source: Source,
    form: &Requantization,
    clamp: Option<[i32; 2]>,
) -> Result<Option<Box<dyn Loops>>, Fault> {
    let first = match source {
        Source::Loops => target.loops(form, clamp).map(Some),
        Source::Model => target.own_loops(form, clamp),
    };
    let first = match first {
        Ok(loops) => return Ok(loops),
        Err(error) => error,
    };
    if matches!(first, TargetError::Wrong { .. }) {
        for _ in 0..TRIES {
            let again = target.loops(form, clamp);
            if again.as_ref().err() != Some(&first) {
                let text = format!("prepare: at first {first}; called again, another result");
                return Err(Fault::new(Subject::Determinism, text));
            }
        }
    }
    Err(Fault::refused(form, &first))
}

/// Numbers of accumulators that are no multiple of a vector, and none at all.
const LENGTHS: [usize; 7] = [0, 1, 3, 7, 15, 33, 65];

/// Inputs of every length, in front of two kinds of other numbers: a kernel that reads past the input is out of its slice, or
/// makes something of what lies there.
fn lengths(loops: &dyn Loops, form: &Requantization, numbers: &mut Numbers, counts: &mut Counts) -> Vec<Fault> {
    let channels = form.channels().unwrap_or(1);
    let width = usize::from(form.out().bits().div_ceil(8));
    let mut faults = Vec::new();
    for length in LENGTHS {
        let sums: Vec<i32> = (0..channels * length)
            .map(|at| {
                let domain = form.domain(at / length.max(1));
                let inside = numbers.between(-1 << 20, 1 << 20).clamp(*domain.start(), *domain.end());
                i32::try_from(inside).unwrap_or(0)
            })
            .collect();
        let with = |tail: i32| -> Result<Vec<u8>, KernelError> {
            let behind = [tail; 64];
            let input: Vec<u8> = sums.iter().chain(&behind).flat_map(|sum| sum.to_ne_bytes()).collect();
            let mut out = vec![0; sums.len() * width];
            let cx = Context::detect();
            loops.requantize(
                &cx,
                [1, channels, length],
                IntType::I32,
                &input[..4 * sums.len()],
                &mut out,
            )?;
            Ok(out)
        };
        counts.calls += 2;
        counts.reads += 2;
        match (with(i32::MIN), with(i32::MAX)) {
            (Ok(a), Ok(b)) if a == b => {}
            (Ok(_), Ok(_)) => {
                let text = format!("{length} accumulators: the result depends on what lies behind them");
                faults.push(Fault::new(Subject::Reads, text));
            }
            (Err(error), _) | (_, Err(error)) => {
                faults.push(Fault::failed(&format!("{length} accumulators"), &error));
                if has_hung(&faults) {
                    break;
                }
            }
        }
    }
    faults
}

/// Slices that do not fit their extents: an error, and neither a panic nor a result.
fn garbage(loops: &dyn Loops, form: &Requantization, counts: &mut Counts) -> Vec<Fault> {
    let channels = form.channels().unwrap_or(1);
    let width = usize::from(form.out().bits().div_ceil(8));
    let right = (4 * channels * 8, width * channels * 8);
    let cases = [
        ("an input that is too short", right.0 - 4, right.1),
        ("an input that ends in a number", right.0 - 1, right.1),
        ("an output that is too short", right.0, right.1 - 1),
        ("no input", 0, right.1),
    ];
    let mut faults = Vec::new();
    for (case, input, output) in cases {
        let (input, mut out) = (vec![0x55; input], vec![0; output]);
        counts.calls += 1;
        counts.garbage += 1;
        let answer = loops.requantize(&Context::detect(), [1, channels, 8], IntType::I32, &input, &mut out);
        match answer {
            Ok(()) => faults.push(Fault::new(Subject::Garbage, format!("{case} is taken"))),
            Err(error) if error.to_string().contains("panicked: ") => faults.push(Fault::failed(case, &error)),
            Err(error) if Fault::is_hang(&error.to_string()) => {
                faults.push(Fault::failed(case, &error));
                break;
            }
            Err(_) => {}
        }
    }
    faults
}

/// Threads that call the same loops.
const THREADS: usize = 4;

/// The same run on several threads at once.
fn together(loops: &dyn Loops, run: &Run, counts: &mut Counts) -> Option<Fault> {
    let alone = run.results(loops, &Context::detect()).ok()?;
    counts.calls += THREADS as u64;
    counts.together += THREADS as u64;
    let others = thread::scope(|scope| {
        let one = || run.results(loops, &Context::detect());
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().ok()?.ok())
            .collect::<Vec<_>>()
    });
    let same = others.iter().all(|other| other.as_ref() == Some(&alone));
    (!same).then(|| {
        let text = format!(
            "{}: called by {THREADS} threads at once it gives other results",
            run.name()
        );
        Fault::new(Subject::Concurrency, text)
    })
}
