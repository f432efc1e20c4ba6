//! Checks that a target's kernels compute what its table says.
//!
//! [`check`] takes each form of the table and makes requantizations within its limits, first with extreme parameters
//! and then with others. For each requantization, the check asks the target for its loops and compares every result
//! with `strait-requantize`, which defines the forms. It uses accumulators where a result changes and their neighbours,
//! the ends of the domain, and others of every magnitude. Forms that are defined for accumulators of more than 32 bits
//! are also tested with 64-bit sums of 16-bit codes. All instruction sets of the machine have to give the same bits.
//!
//! Everything works through the target's interface. So all targets are tested in the same way: those that are only a
//! table, those with their own kernels, and those in a library.

mod accumulators;
mod kit;
mod near_ties;
mod numbers;
mod placed;
mod report;
mod runs;
mod samples;

pub use kit::{Examination, ExaminationProgress, Group, Kit, Line, Recording, examine};
pub use report::{FormReport, KitFinding, Report, Wrong};

use numbers::Numbers;
use runs::Run;
use strait_kernels::{Context, Isa};
use strait_requantize::{OutsideDomain, Requantization};
use strait_target::{Target, TargetError};

/// Runs all checks. It takes about a second and always gives the same report for a target.
pub fn check(target: &dyn Target) -> Report {
    let spec = target.spec();
    let mut report = Report {
        target: spec.id.to_string(),
        forms: Vec::new(),
    };
    for (name, row) in &spec.form {
        let mut form = FormReport::new(name);
        // Each form has its own sequence of random numbers, so that adding a form does not change the tests of the
        // others.
        let mut numbers = Numbers::new(name);
        for (requantization, clamp) in samples::samples(row, &mut numbers) {
            if let Err(reason) = row.accepts(&requantization, clamp) {
                form.find(&requantization, clamp, Wrong::NotAccepted(reason.text));
                continue;
            }
            form.requantizations += 1;
            requantize(target, &requantization, clamp, &mut numbers, &mut form);
        }
        report.forms.push(form);
    }
    report
}

/// Tests every loop of one requantization.
fn requantize(
    target: &dyn Target,
    requantization: &Requantization,
    clamp: Option<[i32; 2]>,
    numbers: &mut Numbers,
    form: &mut FormReport,
) {
    let loops = match target.loops(requantization, clamp) {
        Ok(loops) => loops,
        // This error comes from the check that every command makes when it prepares loops.
        Err(TargetError::Wrong {
            channel,
            accumulator,
            expected,
            found,
            ..
        }) => {
            let wrong = Wrong::Result {
                run: "requantize",
                isa: Isa::detect(),
                channel,
                accumulator,
                expect: expected,
                found,
            };
            return form.find(requantization, clamp, wrong);
        }
        Err(error) => return form.find(requantization, clamp, Wrong::NoLoops(error.to_string())),
    };
    if loops.out() != requantization.out() {
        return form.find(requantization, clamp, Wrong::Output(loops.out()));
    }
    for run in Run::all(requantization, numbers) {
        let expect = match expected(requantization, clamp, &run) {
            Ok(expect) => expect,
            Err(error) => {
                form.find(
                    requantization,
                    clamp,
                    Wrong::Run {
                        run: run.name(),
                        error: error.to_string(),
                    },
                );
                continue;
            }
        };
        for isa in Isa::available() {
            match run.results(&*loops, &Context::with_isa(isa)) {
                Err(error) => form.find(
                    requantization,
                    clamp,
                    Wrong::Run {
                        run: run.name(),
                        error: error.to_string(),
                    },
                ),
                Ok(found) => {
                    form.results += found.len() as u64;
                    let differing = expect.iter().zip(&found).position(|(expect, found)| expect != found);
                    if let Some(at) = differing {
                        let (channel, accumulator) = run.accumulator(at);
                        let (expect, found) = (expect[at], found[at]);
                        let wrong = Wrong::Result {
                            run: run.name(),
                            isa,
                            channel,
                            accumulator,
                            expect,
                            found,
                        };
                        form.find(requantization, clamp, wrong);
                    }
                }
            }
        }
    }
}

/// The results for all accumulators of a run, by the definition of the form.
fn expected(form: &Requantization, clamp: Option<[i32; 2]>, run: &Run) -> Result<Vec<i32>, OutsideDomain> {
    let [low, high] = clamp.unwrap_or([i32::MIN, i32::MAX]);
    let channels: Vec<_> = (0..run.channels()).map(|channel| form.channel(channel).ok()).collect();
    let of = |at| {
        let (channel, accumulator) = run.accumulator(at);
        let code = match channels.get(channel) {
            Some(Some(channel)) => channel.eval(accumulator)?,
            _ => form.eval(channel, accumulator)?,
        };
        Ok(code.min(high).max(low))
    };
    (0..run.len()).map(of).collect()
}
