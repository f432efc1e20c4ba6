//! A model that was observed once, and its way to any number of targets.

use std::{borrow::Cow, num::NonZeroUsize, sync::Arc};

use strait_core::{Module, Switches};
use strait_execute::{Limits, PlanOptions, Tensor};
use strait_quantize::{Observation, ObserveError, Requests, observe::Samples, statistics::Coverage};
use strait_target::Target;
use strait_verify::Ranges;

use crate::{Built, CompileError, Means, Model, OfTarget, Resolved, Task, Watch, compile, observe};

/// Samples in memory, each with the graph's inputs in their order.
#[derive(Clone, Debug, Default)]
pub struct InMemory(pub Vec<Vec<Tensor>>);

impl Samples for InMemory {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let sample = self.0.get(index).cloned();
        sample.ok_or_else(|| format!("there is no sample {index}"))
    }
}

/// A model and what was observed of it, for any number of targets.
pub struct Observed {
    /// The canonical model.
    pub model: Model,
    /// Statistics of its values.
    pub observation: Observation,
    /// The integers that its inputs have in the samples, by name.
    pub ranges: Ranges,
    samples: Arc<dyn Samples>,
    means: Means<'static>,
}

impl Default for Means<'_> {
    /// One thread, and the default limits.
    fn default() -> Self {
        Means {
            threads: NonZeroUsize::MIN,
            limits: Limits::default(),
            options: PlanOptions::default(),
        }
    }
}

impl Model {
    /// Runs all samples.
    ///
    /// # Errors
    /// As for [`observe()`].
    pub fn observe(
        self,
        samples: Arc<dyn Samples>,
        means: Means<'static>,
        watch: &dyn Watch,
    ) -> Result<Observed, CompileError> {
        let requests = Requests::all(&self.module, self.module.main);
        let covered = Coverage::all(samples.count() as u64);
        let all = (&requests, samples.as_ref(), &covered);
        let observation = observe((&self.module, &self.bodies), all, &means, watch)?;
        let ranges = ranges(&self.module, samples.as_ref())?;
        Ok(Observed {
            model: self,
            observation,
            ranges,
            samples,
            means,
        })
    }
}

/// The least and the largest number of each input of integers: what random inputs of a verification are drawn from.
fn ranges(module: &Module, samples: &dyn Samples) -> Result<Ranges, CompileError> {
    let graph = module.main();
    let whole = graph.inputs().iter().enumerate().filter_map(|(position, &input)| {
        let value = graph.value(input).filter(|value| !value.ty.elem.is_float())?;
        Some((position, module.name(value.name)))
    });
    let whole: Vec<(usize, &str)> = whole.collect();
    let mut found = Ranges::default();
    for index in 0..if whole.is_empty() { 0 } else { samples.count() } {
        let sample = samples.sample(index);
        let sample = sample.map_err(|text| CompileError::Observe(ObserveError::Data { index, text }))?;
        for &(position, name) in &whole {
            let data = sample.get(position).and_then(|tensor| tensor.to_data().ok());
            let Some((low, high)) = data.and_then(|data| data.extremes()) else {
                continue;
            };
            let known = found.0.entry(name.to_owned()).or_insert([low, high]);
            *known = [known[0].min(low), known[1].max(high)];
        }
    }
    Ok(found)
}

impl Observed {
    /// The samples.
    pub fn samples(&self) -> &dyn Samples {
        self.samples.as_ref()
    }

    /// Compiles for one target. `resolve` is given the float graph behind the rules of its table, to whose nodes and values it
    /// resolves rules.
    ///
    /// # Errors
    /// As for [`compile()`], and those of `resolve`.
    pub fn compile<E: From<CompileError>>(
        &self,
        target: &Arc<dyn Target>,
        resolve: impl FnOnce(&Module) -> Result<Resolved, E>,
        watch: &dyn Watch,
    ) -> Result<Built, E> {
        self.with(target, resolve, watch, |task| Ok(compile(task, watch)?))
    }

    /// Does `work` with the task of compiling for one target.
    ///
    /// # Errors
    /// Those of `resolve` and `work`, and what stops the rules of the target or the observation of what they make.
    pub fn with<T, E: From<CompileError>>(
        &self,
        target: &Arc<dyn Target>,
        resolve: impl FnOnce(&Module) -> Result<Resolved, E>,
        watch: &dyn Watch,
        work: impl FnOnce(&Task<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (module, bodies) = (&self.model.module, &self.model.bodies);
        let covered = Coverage::all(self.samples.count() as u64);
        let switches = Switches::default();
        let rules = (target.spec(), &switches);
        let own = OfTarget::new((module, &self.observation), rules, watch, |module, unmet| {
            let others = (unmet, self.samples.as_ref(), &covered);
            observe((module, bodies), others, &self.means, watch)
        })?;
        let resolved = resolve(&own.module)?;
        let observation = self.more((&own.module, &own.observation), &resolved.requests, watch)?;
        work(&Task {
            float: &own.module,
            bodies,
            observation: &observation,
            target,
            resolved: &resolved,
            ranges: &self.ranges,
            random_inputs: 3,
            limits: self.means.limits,
            threads: self.means.threads,
        })
    }

    /// An observation with the statistics of the module's values that are asked for and that it does not have yet.
    fn more<'o>(
        &self,
        (module, known): (&Module, &'o Observation),
        requests: &Requests,
        watch: &dyn Watch,
    ) -> Result<Cow<'o, Observation>, CompileError> {
        let (unmet, mut found) = (requests.unmet(module, module.main, known), Cow::Borrowed(known));
        if !unmet.is_empty() {
            let covered = Coverage::all(self.samples.count() as u64);
            let others = (&unmet, self.samples.as_ref(), &covered);
            found
                .to_mut()
                .extend(observe((module, &self.model.bodies), others, &self.means, watch)?);
        }
        Ok(found)
    }
}
