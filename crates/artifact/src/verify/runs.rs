//! Runs both graphs on random samples and on the samples that the user gave.

use strait_compile::{CompileError, Means, Watch};
use strait_execute::{Demand, LoopsFor, PlanOptions, Tensor, TensorView, Threads, Workspace, map_in_order};
use strait_verify::{Analysis, Comparison, ComparisonSpace, Finding, VerifyError, merge};

use super::{Graphs, RunSamples, Runs, inside::Inside};
use crate::Error;

/// Everything that is needed to run both graphs.
pub(super) struct Work<'a> {
    pub(super) graphs: &'a Graphs<'a>,
    pub(super) analysis: &'a Analysis<'a>,
    pub(super) request: &'a RunSamples<'a>,
    pub(super) means: &'a Means<'a>,
    pub(super) watch: &'a dyn Watch,
}

/// What running both graphs on samples found.
#[derive(Default)]
pub(super) struct Ran {
    pub(super) runs: Runs,
    pub(super) findings: Vec<Finding>,
    /// The error if a graph could not be run.
    pub(super) failed: Option<VerifyError>,
}

impl Ran {
    pub(super) fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.failed.is_none()
    }
}

impl Work<'_> {
    /// Runs both graphs on all samples. The fused graph runs with `loops`.
    pub(super) fn run(&self, loops: &dyn LoopsFor) -> Result<Ran, Error> {
        let Work {
            graphs,
            analysis,
            request: &RunSamples { random, seed, given },
            means,
            watch,
        } = *self;
        let mut ran = Ran::default();
        let count = random + given.map_or(0, strait_quantize::observe::Samples::count);
        if count == 0 {
            return Ok(ran);
        }
        let options = PlanOptions { loops, ..means.options };
        let demand = Demand::comparing(graphs.open)?;
        let threads = means.limits.admit(&demand, means.threads).map_err(CompileError::from)?;
        watch.admitted(&demand, count);
        let comparison = watch.step("prepare the layers", None, |_| {
            Ok::<_, Error>(Comparison::new(analysis, &options))
        })?;
        let comparison = match comparison {
            Ok(comparison) => comparison,
            Err(error) => {
                ran.failed = Some(error);
                return Ok(ran);
            }
        };
        ran.runs = Runs {
            random,
            given: count - random,
            layers: comparison.layer_count(),
            outputs: analysis.is_exact(),
        };
        let inside = match given {
            Some(_) => Inside::new(graphs, &options)?,
            None => None,
        };
        let worker = || {
            let threads = Threads::one();
            let inside = inside.as_ref().map(|inside| Workspace::new(&inside.plan, &threads));
            Ok((comparison.space(&threads), inside))
        };
        let drawn = |index| comparison.random_inputs(seed, index, graphs.ranges);
        let work = |(space, whole): &mut (ComparisonSpace, Option<Workspace>), index: usize| {
            let (inputs, sample) = match given.filter(|_| index >= random) {
                Some(given) => {
                    let index = index - random;
                    let sample = given.sample(index);
                    let sample = sample.map_err(|fault| Error::Sample { index, fault })?;
                    let inputs = match (&inside, whole) {
                        (Some(inside), Some(space)) => {
                            let views: Vec<TensorView<'_>> = sample.iter().map(Tensor::view).collect();
                            drawn(random + index).and_then(|drawn| inside.filled(space, &views, drawn))
                        }
                        _ => Ok(sample),
                    };
                    (inputs, format!("sample {index}"))
                }
                None => (drawn(index), format!("random sample {index}")),
            };
            let found = inputs.and_then(|inputs| {
                let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
                comparison.run(space, &views, &sample)
            });
            Ok::<_, Error>(found)
        };
        let (findings, failed) = (&mut ran.findings, &mut ran.failed);
        watch.step("compare the graphs", Some(count), |done| {
            let sink = |index: usize, found: Result<Vec<Finding>, VerifyError>| {
                match found {
                    Ok(found) => merge(findings, found),
                    Err(error) => *failed = failed.take().or(Some(error)),
                }
                Ok(done(index + 1))
            };
            let ran = map_in_order(count, threads, worker, work, sink);
            ran.map_err(|error| error.or(CompileError::Interrupted.into()))
        })?;
        Ok(ran)
    }
}
