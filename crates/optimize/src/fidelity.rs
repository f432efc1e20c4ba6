//! How close a quantized model comes to the float model, measured at the outputs of the graph.
//!
//! Two distributions p and q are compared by their Jensen-Shannon divergence (J. Lin, "Divergence measures based on the Shannon
//! entropy", IEEE Transactions on Information Theory 37, 1991), in units of its largest value ln 2:
//!
//! D = Σ (p·ln(2p/(p + q)) + q·ln(2q/(p + q))) / (2·ln 2)
//!
//! For small differences δ of the logits, D grows with the variance of δ under p. So it counts what changes the order of likely
//! classes, where the squared difference of the probabilities mostly counts samples that the model is sure of. All other outputs
//! are compared by Σ (difference)² / Σ (float element)².

use crate::error::Error;
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use strait_core::{Graph, Module, Op, ValueId};
use strait_execute::{
    Demand, Limits, Pass, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, cost, map_in_order,
};
use strait_quantize::observe::Samples;

/// Some samples, and the outputs of the float model for them.
pub struct Fidelity<'a> {
    samples: &'a dyn Samples,
    /// The indices of the samples.
    indices: Vec<usize>,
    /// The outputs of the float model for the samples of this process, from the first of them on.
    outputs: (usize, Vec<Vec<Tensor>>),
    measures: Vec<Measure>,
    limits: Limits,
    threads: NonZeroUsize,
}

/// How an output is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// The output has distributions, because a softmax makes it.
    Divergence,
    Difference,
}

impl Measure {
    fn of(graph: &Graph, mut value: ValueId) -> Measure {
        while let Some((_, node)) = graph.producer(value) {
            match node.op {
                Op::Softmax(_) => return Measure::Divergence,
                Op::Identity(_) | Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Transpose(_) => {}
                _ => break,
            }
            match node.input(0) {
                Some(input) => value = input,
                None => break,
            }
        }
        Measure::Difference
    }

    /// The error of one output, from 0 to 1. `None` if there is nothing to compare.
    fn error(self, made: &[f32], float: &[f32]) -> Option<f64> {
        let (mut noise, mut power) = (0.0, 0.0);
        for (&made, &float) in made.iter().zip(float) {
            let (q, p) = (f64::from(made), f64::from(float));
            let (own, whole) = match self {
                Measure::Difference => ((q - p) * (q - p), p * p),
                Measure::Divergence => {
                    let (p, q) = (p.max(0.0), q.max(0.0));
                    let part = |x: f64| if x > 0.0 { x * libm::log(2.0 * x / (p + q)) } else { 0.0 };
                    (part(p) + part(q), 2.0 * std::f64::consts::LN_2 * p)
                }
            };
            (noise, power) = (noise + own, power + whole);
        }
        (power > 0.0).then(|| (noise / power).clamp(0.0, 1.0))
    }
}

impl<'a> Fidelity<'a> {
    /// Runs the float model on the samples: on all, or only on those that are left out when codes are computed. At most
    /// `most` of them are used, evenly spread.
    ///
    /// # Errors
    /// [`Error`].
    pub fn new(
        float: &Module,
        samples: &'a dyn Samples,
        (only_held, most): (bool, usize),
        (limits, threads): (Limits, NonZeroUsize),
    ) -> Result<Fidelity<'a>, Error> {
        let all: Vec<usize> = (0..samples.count()).filter(|&at| !only_held || is_held(at)).collect();
        let count = all.len().min(most);
        let mut fidelity = Fidelity {
            samples,
            indices: (0..count).map(|at| all[at * all.len() / count]).collect(),
            outputs: (0, Vec::new()),
            measures: (float.main().outputs().iter())
                .map(|&value| Measure::of(float.main(), value))
                .collect(),
            limits,
            threads,
        };
        let own = match samples.exchange() {
            Some(exchange) => exchange.share().range(count),
            None => 0..count,
        };
        let outputs = fidelity.run(float, own.clone())?;
        fidelity.outputs = (own.start, outputs);
        Ok(fidelity)
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.indices.len()
    }

    /// The error of a model on each sample: the mean over the outputs of each output's error, from 0 to 1.
    ///
    /// # Errors
    /// [`Error`].
    pub fn errors(&self, module: &Module) -> Result<Vec<f64>, Error> {
        let (plan, threads) = self.plan(module)?;
        let worker = || Ok(Workspace::new(&plan, &Threads::one()));
        let (first, outputs) = &self.outputs;
        let work = |workspace: &mut Workspace, at: usize| {
            let float = at.checked_sub(*first).and_then(|at| outputs.get(at));
            let float = float.ok_or_else(|| Error::Defect("the float model did not run on a sample".into()))?;
            Ok(self.error(&self.made(&plan, workspace, at)?, float))
        };
        let pass = Pass {
            exchange: self.samples.exchange(),
            name: "compare",
            count: self.indices.len(),
            threads,
        };
        let mut errors = Vec::with_capacity(self.indices.len());
        let run = pass.map(worker, work, |_, error| {
            errors.push(error);
            Ok(ControlFlow::Continue(()))
        });
        run.map_err(Error::of_sample)?;
        Ok(errors)
    }

    /// The error of the outputs for one sample.
    fn error(&self, made: &[Tensor], float: &[Tensor]) -> f64 {
        let outputs = made.iter().zip(float).zip(&self.measures);
        let errors = outputs.filter_map(|((made, float), measure)| {
            let (made, float) = (made.values::<f32>().ok()?, float.values::<f32>().ok()?);
            measure.error(made, float)
        });
        let (sum, count) = errors.fold((0.0, 0u32), |(sum, count), error| (sum + error, count + 1));
        sum / f64::from(count.max(1))
    }

    fn plan(&self, module: &Module) -> Result<(Plan, NonZeroUsize), Error> {
        let demand = Demand::new(cost(module, module.main)?);
        let threads = self.limits.admit(&demand, self.threads)?;
        Ok((Plan::new(module, module.main, &PlanOptions::default())?, threads))
    }

    /// The outputs for one sample.
    fn made(&self, plan: &Plan, workspace: &mut Workspace, at: usize) -> Result<Vec<Tensor>, Error> {
        let index = self.indices[at];
        let sample = self.samples.sample(index);
        let sample = sample.map_err(|text| Error::Sample { index, text })?;
        let views: Vec<TensorView<'_>> = sample.iter().map(Tensor::view).collect();
        Ok(plan.run(workspace, &views)?)
    }

    /// The outputs for some of the samples, in their order.
    fn run(&self, module: &Module, range: Range<usize>) -> Result<Vec<Vec<Tensor>>, Error> {
        let (plan, threads) = self.plan(module)?;
        let worker = || Ok(Workspace::new(&plan, &Threads::one()));
        let work = |workspace: &mut Workspace, at: usize| self.made(&plan, workspace, range.start + at);
        let mut outputs = Vec::with_capacity(range.len());
        let run = map_in_order(range.len(), threads, worker, work, |_, tensors| {
            outputs.push(tensors);
            Ok(ControlFlow::Continue(()))
        });
        run.map_err(Error::of_sample)?;
        Ok(outputs)
    }
}

/// A change has to make errors smaller by this part.
const LEAST_GAIN: f64 = 0.01;

/// How many standard errors the gain of a change has to be larger than zero.
const CERTAINTY: f64 = 2.0;

/// True if a change makes errors clearly smaller. `before` and `after` have the error of each sample. Two things are
/// required. The mean error falls by one percent. And the gains of single samples, g = ln(before / after), have a mean that is
/// larger than twice its standard error, √(Σ (g − mean(g))² / (n·(n − 1))). So a change is not made because of a few samples.
/// The logarithm keeps samples with large errors from hiding what happens to all others.
pub fn is_gain(before: &[f64], after: &[f64]) -> bool {
    let (count, gains) = (before.len() as f64, gains(before, after));
    let gain = mean(&gains);
    let spread: f64 = gains.iter().map(|own| (own - gain) * (own - gain)).sum();
    let error = (spread / (count * (count - 1.0))).sqrt();
    count > 1.0 && mean(after) < (1.0 - LEAST_GAIN) * mean(before) && gain > CERTAINTY * error
}

/// True if a change makes both the mean of the errors and the error of a typical sample smaller, even if only a little. This is
/// enough for a model whose layers have already passed [`is_gain`].
pub fn is_closer(before: &[f64], after: &[f64]) -> bool {
    mean(after) < mean(before) && mean(&gains(before, after)) > 0.0
}

/// ln(before / after) for each sample. The logarithm is the one of `libm`, which is the same on every machine.
fn gains(before: &[f64], after: &[f64]) -> Vec<f64> {
    let least = mean(before) * 1e-9 + f64::MIN_POSITIVE;
    let gain = |(before, after): (&f64, &f64)| libm::log((before + least) / (after + least));
    before.iter().zip(after).map(gain).collect()
}

/// The mean of the errors of all samples.
pub fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len().max(1) as f64
}

/// True if a sample is left out when codes are computed, so that it can judge them.
pub(crate) fn is_held(index: usize) -> bool {
    index % HELD == HELD - 1
}

/// One sample of so many is left out when codes are computed.
pub(crate) const HELD: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_compared_by_their_divergence() {
        let error = |made: &[f32]| Measure::Divergence.error(made, &[0.5, 0.5, 0.0, 0.0]).unwrap();
        assert_eq!(error(&[0.5, 0.5, 0.0, 0.0]), 0.0);
        assert!((error(&[0.0, 0.0, 0.5, 0.5]) - 1.0).abs() < 1e-12);
        // p = (0.5, 0.5), q = (1, 0): (0.5·ln(2/3) + 0.5·ln 2 + ln(4/3)) / (2·ln 2).
        let closed = (0.5 * (2.0f64 / 3.0).ln() + 0.5 * 2.0f64.ln() + (4.0f64 / 3.0).ln()) / (2.0 * 2.0f64.ln());
        assert!((error(&[1.0, 0.0, 0.0, 0.0]) - closed).abs() < 1e-12);
    }

    #[test]
    fn a_gain_on_few_samples_is_none() {
        assert!(is_gain(&[1.0, 2.0, 3.0, 2.0], &[0.9, 1.8, 2.8, 1.9]));
        // The mean is smaller only because of one sample.
        assert!(!is_gain(&[1.0, 2.0, 9.0, 2.0], &[1.1, 2.1, 4.0, 2.1]));
        assert!(!is_gain(&[1.0, 1.0, 1.0], &[0.995, 0.994, 0.996]));
        assert!(!is_gain(&[1.0], &[0.1]) && !is_gain(&[], &[]));
    }
}
