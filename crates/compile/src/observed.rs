//! A model whose samples were observed once. It can be compiled for any number of targets.

use std::{
    borrow::Cow,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use strait_core::{Module, Switches};
use strait_execute::{Limits, PlanOptions, Tensor};
use strait_quantize::{Observation, ObserveError, Requests, observe::Samples, statistics::Coverage};
use strait_target::{Target, TargetSpec, spec::FloatRule};
use strait_verify::Ranges;

use crate::{Built, CompileError, Means, Model, OfTarget, Resolved, Task, Watch, compile, observe};

/// Samples in memory. Each has one tensor for each input of the graph, in the order of the inputs.
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

/// A model with the statistics of its values, ready to be compiled for any number of targets.
pub struct Observed {
    /// The canonical model.
    pub model: Model,
    /// The statistics of the model's values.
    pub observation: Observation,
    /// For each integer input, by name, the range of its numbers in the samples.
    pub ranges: Ranges,
    samples: Arc<dyn Samples>,
    means: Means<'static>,
    of_targets: Mutex<Vec<OfRules>>,
}

/// The rules that a target's table switches on, and their result: the float graph after these rules, with its
/// statistics. The result is `None` if the rules change nothing.
type OfRules = (Vec<FloatRule>, Option<Arc<(Module, Observation)>>);

impl Default for Means<'_> {
    /// The default: one thread, and the default limits.
    fn default() -> Self {
        Means {
            threads: NonZeroUsize::MIN,
            limits: Limits::default(),
            options: PlanOptions::default(),
        }
    }
}

impl Model {
    /// Runs all samples and collects their statistics.
    ///
    /// # Errors
    /// Errors of [`observe()`].
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
        let ranges = measure_ranges(&self.module, samples.as_ref())?;
        Ok(Observed {
            model: self,
            observation,
            ranges,
            samples,
            means,
            of_targets: Mutex::default(),
        })
    }
}

/// The smallest and the largest number in each integer input. Verification draws its random inputs from these ranges.
fn measure_ranges(module: &Module, samples: &dyn Samples) -> Result<Ranges, CompileError> {
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
    /// The samples that were observed.
    pub fn samples(&self) -> &dyn Samples {
        self.samples.as_ref()
    }

    /// Compiles for one target. `resolve` is called with the float graph after the rules of the target's table, and
    /// resolves the user's rules to the nodes and values of this graph.
    ///
    /// # Errors
    /// Errors of [`compile()`] and of `resolve`.
    pub fn compile<E: From<CompileError>>(
        &self,
        target: &Arc<dyn Target>,
        resolve: impl FnOnce(&Module) -> Result<Resolved, E>,
        watch: &dyn Watch,
    ) -> Result<Built, E> {
        self.with(target, resolve, watch, |task| Ok(compile(task, watch)?))
    }

    /// Compiles again for the same target, with other rules, and uses what was compiled before. The result is the same
    /// as that of [`Observed::compile`].
    ///
    /// # Errors
    /// Errors of [`Observed::compile`].
    pub fn revise<E: From<CompileError>>(
        &self,
        built: &Built,
        resolve: impl FnOnce(&Module) -> Result<Resolved, E>,
        watch: &dyn Watch,
    ) -> Result<Built, E> {
        self.with(
            &built.kept.target,
            resolve,
            watch,
            |task| Ok(built.revise(task, watch)?),
        )
    }

    /// Prepares the compilation for one target and calls `work` with the task.
    ///
    /// # Errors
    /// Errors of `resolve` and `work`, a rule of the target that fails, or statistics of new values that cannot be
    /// observed.
    pub fn with<T, E: From<CompileError>>(
        &self,
        target: &Arc<dyn Target>,
        resolve: impl FnOnce(&Module) -> Result<Resolved, E>,
        watch: &dyn Watch,
        work: impl FnOnce(&Task<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let own = self.of_target(target.spec(), watch)?;
        let (float, observation) = match own.as_deref() {
            Some((module, observation)) => (module, observation),
            None => (&self.model.module, &self.observation),
        };
        let resolved = resolve(float)?;
        let observation = self.more((float, observation), &resolved.requests, watch)?;
        work(&Task {
            float,
            bodies: &self.model.bodies,
            observation: &observation,
            target,
            resolved: &resolved,
            ranges: &self.ranges,
            optimise: None,
            on_copy: None,
            random_inputs: 3,
            is_revised: true,
            limits: self.means.limits,
            threads: self.means.threads,
        })
    }

    /// Returns the float graph after the rules of a target's table, and its statistics. Both are made once for all
    /// tables with the same rules.
    fn of_target(
        &self,
        spec: &TargetSpec,
        watch: &dyn Watch,
    ) -> Result<Option<Arc<(Module, Observation)>>, CompileError> {
        let known = || self.of_targets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = known().iter().find(|(rules, _)| *rules == spec.rules) {
            return Ok(made.clone());
        }
        let (canonical, switches) = ((&self.model.module, &self.observation), Switches::default());
        let measured = |module: &Module, unmet: &Requests| self.measured(module, unmet, watch);
        let own = OfTarget::new(canonical, (spec, &switches), watch, measured)?;
        let made = match (own.module, own.observation) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => None,
            (module, observation) => Some(Arc::new((module.into_owned(), observation.into_owned()))),
        };
        known().push((spec.rules.clone(), made.clone()));
        Ok(made)
    }

    /// Returns the observation with all statistics that are requested. If some are missing, runs the samples again to
    /// collect them.
    fn more<'o>(
        &self,
        (module, known): (&Module, &'o Observation),
        requests: &Requests,
        watch: &dyn Watch,
    ) -> Result<Cow<'o, Observation>, CompileError> {
        let (unmet, mut found) = (requests.unmet(module, module.main, known), Cow::Borrowed(known));
        if !unmet.is_empty() {
            found.to_mut().extend(self.measured(module, &unmet, watch)?);
        }
        Ok(found)
    }

    fn measured(&self, module: &Module, requests: &Requests, watch: &dyn Watch) -> Result<Observation, CompileError> {
        let covered = Coverage::all(self.samples.count() as u64);
        let what = (requests, self.samples.as_ref(), &covered);
        observe((module, &self.model.bodies), what, &self.means, watch)
    }
}
