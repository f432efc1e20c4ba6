//! How close a quantized model comes to the float model, measured at the outputs of the graph.

use crate::sequence::Error;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::Module;
use strait_execute::{
    Demand, Limits, Plan, PlanOptions, SampleError, Tensor, TensorView, Threads, Workspace, cost, map_in_order,
};
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
    /// Runs the float model on the samples that judge: those that are left out when codes are computed. At most `most` of
    /// them are used, evenly spread.
    ///
    /// # Errors
    /// [`Error`].
    pub fn new(
        float: &Module,
        samples: &'a dyn Samples,
        most: usize,
        (limits, threads): (Limits, NonZeroUsize),
    ) -> Result<Fidelity<'a>, Error> {
        let all: Vec<usize> = (0..samples.count()).filter(|&at| is_held(at)).collect();
        let count = all.len().min(most);
        let indices = (0..count).map(|at| all[at * all.len() / count]).collect();
        let mut fidelity = Fidelity {
            samples,
            indices,
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

    /// The error of a model: Σ (difference of an element)² / Σ (float element)² for each float output of each sample, and
    /// the mean of these quotients. A quotient counts as 1 if it is larger.
    ///
    /// # Errors
    /// [`Error`].
    pub fn error(&self, module: &Module) -> Result<f64, Error> {
        let (mut sum, mut count) = (0.0, 0);
        for (made, float) in self.run(module)?.iter().zip(&self.outputs) {
            for (made, float) in made.iter().zip(float) {
                let (Ok(made), Ok(float)) = (made.values::<f32>(), float.values::<f32>()) else {
                    continue;
                };
                let square = |x: f64| x * x;
                let noise: f64 = made
                    .iter()
                    .zip(float)
                    .map(|(a, b)| square(f64::from(*a) - f64::from(*b)))
                    .sum();
                let power: f64 = float.iter().map(|&x| square(x.into())).sum();
                if power > 0.0 {
                    sum += (noise / power).min(1.0);
                    count += 1;
                }
            }
        }
        Ok(sum / f64::from(count.max(1)))
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

/// True if a sample is left out when codes are computed, so that it can judge them.
pub(crate) fn is_held(index: usize) -> bool {
    index % HELD == HELD - 1
}

/// One sample of so many is left out when codes are computed.
pub(crate) const HELD: usize = 4;
