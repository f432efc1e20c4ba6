//! How close a quantized model comes to the float model, measured at the outputs of the graph.

use crate::error::Error;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::Module;
use strait_execute::{Demand, Limits, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, cost, map_in_order};
use strait_quantize::observe::Samples;

/// Some samples, and the outputs of the float model for them.
pub struct Fidelity<'a> {
    samples: &'a dyn Samples,
    /// The indices of the samples.
    indices: Vec<usize>,
    outputs: Vec<Vec<Tensor>>,
    limits: Limits,
    threads: NonZeroUsize,
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
            outputs: Vec::new(),
            limits,
            threads,
        };
        fidelity.outputs = fidelity.run(float)?;
        Ok(fidelity)
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.indices.len()
    }

    /// The error of a model on each sample: the mean over the float outputs of
    /// Σ (difference of an element)² / Σ (float element)². A quotient counts as 1 if it is larger.
    ///
    /// # Errors
    /// [`Error`].
    pub fn errors(&self, module: &Module) -> Result<Vec<f64>, Error> {
        let runs = self.run(module)?;
        Ok(runs
            .iter()
            .zip(&self.outputs)
            .map(|(made, float)| error(made, float))
            .collect())
    }

    fn run(&self, module: &Module) -> Result<Vec<Vec<Tensor>>, Error> {
        let demand = Demand::new(cost(module, module.main)?);
        let threads = self.limits.admit(&demand, self.threads)?;
        let plan = Plan::new(module, module.main, &PlanOptions::default())?;
        let worker = || Ok(Workspace::new(&plan, &Threads::one()));
        let work = |workspace: &mut Workspace, at: usize| {
            let index = self.indices[at];
            let sample = self
                .samples
                .sample(index)
                .map_err(|text| Error::Sample { index, text })?;
            let views: Vec<TensorView<'_>> = sample.iter().map(Tensor::view).collect();
            Ok::<_, Error>(plan.run(workspace, &views)?)
        };
        let mut outputs = Vec::with_capacity(self.indices.len());
        let run = map_in_order(self.indices.len(), threads, worker, work, |_, tensors| {
            outputs.push(tensors);
            Ok(ControlFlow::Continue(()))
        });
        run.map_err(Error::of_sample)?;
        Ok(outputs)
    }
}

/// The error of the outputs for one sample.
fn error(made: &[Tensor], float: &[Tensor]) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for (made, float) in made.iter().zip(float) {
        let (Ok(made), Ok(float)) = (made.values::<f32>(), float.values::<f32>()) else {
            continue;
        };
        let square = |x: f64| x * x;
        let pairs = made.iter().zip(float);
        let noise: f64 = pairs.map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
        let power: f64 = float.iter().map(|&x| square(x.into())).sum();
        if power > 0.0 {
            sum += (noise / power).min(1.0);
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
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

/// ln(before / after) for each sample.
fn gains(before: &[f64], after: &[f64]) -> Vec<f64> {
    let least = mean(before) * 1e-9 + f64::MIN_POSITIVE;
    let gain = |(before, after): (&f64, &f64)| ((before + least) / (after + least)).ln();
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
    fn a_gain_on_few_samples_is_none() {
        assert!(is_gain(&[1.0, 2.0, 3.0, 2.0], &[0.9, 1.8, 2.8, 1.9]));
        // The mean is smaller only because of one sample.
        assert!(!is_gain(&[1.0, 2.0, 9.0, 2.0], &[1.1, 2.1, 4.0, 2.1]));
        assert!(!is_gain(&[1.0, 1.0, 1.0], &[0.995, 0.994, 0.996]));
        assert!(!is_gain(&[1.0], &[0.1]) && !is_gain(&[], &[]));
    }
}
