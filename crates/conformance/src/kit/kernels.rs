//! Tests the kernels of a target that is part of the program: what they compute, and how their code behaves.

use super::{
    Examination, class,
    fault::{Fault, Subject, differing},
    lines::Line,
    outcome::{self, Counts, Said},
    watch::{Alive, Lost, watched},
};
use crate::{
    numbers::Numbers,
    placed::{Placed, width},
    runs::Run,
    samples,
};
use std::sync::Arc;
use std::thread;
use strait_kernels::{Context, Isa, KernelError, integer::Loops};
use strait_requantize::{IntType, Requantization};
use strait_target::{Target, TargetError};

/// The lines of the report about what the kernels compute and how their code behaves.
pub(super) fn lines(target: &Arc<dyn Target>, how: &Examination<'_>) -> Vec<Line> {
    let Examination { patience, progress, .. } = *how;
    let (mut faults, mut counts, mut done) = (Vec::new(), Counts::default(), 0);
    let rows = target.spec().form.iter();
    let all: Vec<_> = rows
        .map(|(name, row)| (name, row, samples::samples(row, &mut Numbers::new(name))))
        .collect();
    progress.begin("requantizations", all.iter().map(|(.., samples)| samples.len()).sum());
    for (name, row, samples) in all {
        let mut its = Vec::new();
        for (form, clamp) in samples {
            done += 1;
            progress.advance(done);
            if let Err(reason) = row.accepts(&form, clamp) {
                its.push(Fault::new(Subject::Rows, reason.text).on(name, &form, clamp));
                continue;
            }
            counts.requantizations += 1;
            let seed = format!("{name} {}", counts.requantizations);
            let (of, own) = (target.clone(), form.clone());
            let answer = watched(Some(patience), move |alive| {
                probe(&*of, &own, clamp, &mut Numbers::new(&seed), alive)
            });
            match answer {
                Ok((found, counted)) => {
                    its.extend(found.into_iter().map(|fault| fault.on(name, &form, clamp)));
                    counts.add(&counted);
                }
                Err(Lost::Ended) => {
                    let fault = Fault::new(Subject::Panics, "its thread ended without an answer");
                    its.push(fault.on(name, &form, clamp));
                    break;
                }
                Err(Lost::Hung) => {
                    let text = format!("no answer after {} s; nothing else was tried", patience.as_secs_f32());
                    its.push(Fault::new(Subject::Hangs, text).on(name, &form, clamp));
                    break;
                }
            }
        }
        faults.extend(outcome::explained(its));
        if faults.iter().any(|fault| fault.subject == Subject::Hangs) {
            return outcome::of_one_that_hangs(&faults);
        }
    }
    let never = |subject: Subject| match subject {
        Subject::Processes => Some("it runs in the program's own process"),
        Subject::Traces => Some("it is part of the program"),
        _ => None,
    };
    let said = Said {
        spec: target.spec(),
        sets: contexts().len(),
        never: &never,
    };
    outcome::lines(&faults, &counts, &said)
}

/// Runs all tests of one requantization.
fn probe(
    target: &dyn Target,
    form: &Requantization,
    clamp: Option<[i32; 2]>,
    numbers: &mut Numbers,
    alive: Alive<'_>,
) -> (Vec<Fault>, Counts) {
    let mut counts = Counts::default();
    let loops = match prepared(target, form, clamp) {
        Ok(loops) => loops,
        Err(fault) => return (vec![fault], counts),
    };
    let mut faults = Vec::new();
    if loops.out() != form.out() {
        let text = format!("the loops write {}, not {}", loops.out(), form.out());
        return (vec![Fault::new(Subject::Rows, text)], counts);
    }
    let several = form.channels().filter(|&channels| channels > 1);
    counts.count(Subject::Channels, several.unwrap_or(0));
    alive();
    let mut runs = Run::all(form, numbers);
    runs.extend(Run::thresholds(form, clamp));
    for run in &runs {
        // This restarts the time limit, so that the kit's own work does not count for the next call.
        alive();
        let Ok(expect) = run.expected(form, clamp) else {
            continue;
        };
        let channels: Vec<_> = (0..run.channels()).map(|channel| form.channel(channel).ok()).collect();
        alive();
        counts.classes((0..run.len()).filter_map(|at| {
            let (channel, accumulator) = run.accumulator(at);
            let channel = channels.get(channel)?.as_ref()?;
            Some(class::of(channel, accumulator))
        }));
        for context in contexts() {
            let lines = [Subject::Determinism, Subject::Writes, Subject::Unwritten];
            counts.calls(2, &lines);
            let call = |fill: u8| {
                let results = run.placed(&*loops, &context, fill);
                alive();
                results
            };
            match [call(FILLS[0]), call(FILLS[1])] {
                [Ok(first), Ok(again)] => {
                    counts.count(Subject::Loops, expect.len());
                    compare(form, run, &expect, [&first, &again], &mut faults);
                }
                [Err(error), _] | [_, Err(error)] => {
                    faults.push(Fault::failed(run.name(), &error));
                }
            }
        }
    }
    faults.extend(lengths(&*loops, form, numbers, &mut counts));
    alive();
    faults.extend(garbage(&*loops, form, &mut counts));
    alive();
    faults.extend(together(&*loops, &runs, &mut counts));
    (faults, counts)
}

/// The bytes with which the memory for results is filled before the first and before the second of two calls. The two
/// bytes differ, so a result that the kernel does not write differs between the calls.
const FILLS: [u8; 2] = [0x5a, 0xa5];

/// Compares the results of two calls with each other and with the results by the definition of the form.
fn compare(form: &Requantization, run: &Run, expect: &[i32], [first, again]: [&Placed; 2], faults: &mut Vec<Fault>) {
    let mut find = |fault: Fault| fault.add_to(faults);
    if first.is_spilled() || again.is_spilled() {
        let text = format!("{}: it writes outside of its results", run.name());
        find(Fault::new(Subject::Writes, text));
    }
    let mut bytes = first.bytes().iter().zip(again.bytes());
    if let Some(at) = bytes.position(|(a, b)| [*a, *b] == FILLS) {
        let (channel, accumulator) = run.accumulator(at / first.width());
        let text = format!(
            "{}: nothing is written for the accumulator {accumulator} of channel {channel}",
            run.name()
        );
        return find(Fault::new(Subject::Unwritten, text));
    }
    let [first, again] = [first.results(), again.results()];
    if let Some(at) = (0..first.len()).find(|&at| first[at] != again[at]) {
        let (channel, accumulator) = run.accumulator(at);
        let (run, a, b) = (run.name(), first[at], again[at]);
        let text =
            format!("{run}: the accumulator {accumulator} of channel {channel} gives {a} and, called again, {b}");
        return find(Fault::new(Subject::Determinism, text));
    }
    let expect: Vec<Option<i32>> = expect.iter().copied().map(Some).collect();
    for (at, found, expected) in differing(&first, &expect) {
        find(Fault::wrong(form, run.name(), run.accumulator(at), expected, found));
    }
}

/// The instruction sets on which loops are run.
fn contexts() -> Vec<Context> {
    Isa::available().map(Context::with_isa).collect()
}

/// How often a kernel's loops are prepared again after a wrong result. The kernel's arithmetic only counts as wrong if
/// the result is the same each time.
const TRIES: usize = 3;

/// Lets the target prepare the loops of a requantization.
fn prepared(target: &dyn Target, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, Fault> {
    let first = match target.loops(form, clamp) {
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

/// The numbers of accumulators with which inputs are tested: 0, and numbers that are not a multiple of a SIMD vector's
/// length.
const LENGTHS: [usize; 7] = [0, 1, 3, 7, 15, 33, 65];

/// Tests inputs of all [`LENGTHS`]. Each is tested twice, with different numbers after the input in memory. If a kernel
/// reads past its input, it fails, or its results depend on the numbers after the input.
fn lengths(loops: &dyn Loops, form: &Requantization, numbers: &mut Numbers, counts: &mut Counts) -> Vec<Fault> {
    let channels = form.channels().unwrap_or(1);
    let width = width(form.out());
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
        counts.calls(2, &[Subject::Reads]);
        match (with(i32::MIN), with(i32::MAX)) {
            (Ok(a), Ok(b)) if a == b => {}
            (Ok(_), Ok(_)) => {
                let text = format!("{length} accumulators: the result depends on what lies behind them");
                faults.push(Fault::new(Subject::Reads, text));
            }
            (Err(error), _) | (_, Err(error)) => {
                faults.push(Fault::failed(&format!("{length} accumulators"), &error));
            }
        }
    }
    faults
}

/// Calls the kernel with slices whose lengths do not fit the dimensions. The kernel must return an error instead of a
/// result, and must not panic.
fn garbage(loops: &dyn Loops, form: &Requantization, counts: &mut Counts) -> Vec<Fault> {
    let channels = form.channels().unwrap_or(1);
    let width = width(form.out());
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
        counts.calls(1, &[Subject::Garbage]);
        let answer = loops.requantize(&Context::detect(), [1, channels, 8], IntType::I32, &input, &mut out);
        match answer {
            Ok(()) => faults.push(Fault::new(Subject::Garbage, format!("{case} is taken"))),
            Err(error) if error.to_string().contains("panicked: ") => faults.push(Fault::failed(case, &error)),
            Err(_) => {}
        }
    }
    faults
}

/// How many threads call the same loops at the same time.
const THREADS: usize = 4;

/// How many calls each of these threads makes.
const AT_ONCE: usize = 4;

/// Runs the loops on several threads at once, with different inputs on each thread. Returns a fault if they give other
/// results than on a single thread: the kernel's calls may share memory without a lock and overwrite each other's
/// values.
fn together(loops: &dyn Loops, runs: &[Run], counts: &mut Counts) -> Option<Fault> {
    let cx = Context::detect();
    let all = runs.iter().cycle().take(THREADS);
    let alone: Vec<(&Run, Vec<i32>)> = all
        .map(|run| run.results(loops, &cx).map(|alone| (run, alone)))
        .collect::<Result<_, _>>()
        .ok()?;
    counts.calls(THREADS * AT_ONCE, &[Subject::Concurrency]);
    let is_same = |(run, alone): &(&Run, Vec<i32>)| {
        (0..AT_ONCE).all(|_| run.results(loops, &cx).is_ok_and(|again| again == *alone))
    };
    let is_same = &is_same;
    let other = thread::scope(|scope| {
        let threads: Vec<_> = alone.iter().map(|one| scope.spawn(move || is_same(one))).collect();
        let same = threads.into_iter().map(|thread| thread.join().unwrap_or(false));
        same.zip(&alone)
            .find_map(|(same, (run, _))| (!same).then(|| run.name()))
    })?;
    let text = format!("{other}: called by {THREADS} threads at once it gives other results");
    Some(Fault::new(Subject::Concurrency, text))
}
