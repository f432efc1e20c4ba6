//! The whole way for samples in memory.

use std::{num::NonZeroUsize, sync::Arc};

use strait_core::{Module, Switches};
use strait_execute::{PlanOptions, Tensor};
use strait_quantize::{Observation, Requests, observe::Samples, statistics::Coverage};
use strait_target::Target;
use strait_verify::Ranges;

use crate::{Built, CompileError, Limits, Means, Model, OfTarget, Settings, Silent, Task, compile, observe};

/// Samples in memory, each with the graph's inputs in their order.
#[derive(Clone, Debug, Default)]
pub struct InMemory(pub Vec<Vec<Tensor>>);

impl Samples for InMemory {
    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let sample = self.0.get(index).cloned();
        sample.ok_or_else(|| format!("there is no sample {index}"))
    }
}

/// A model and what was observed of it, for any number of targets.
pub struct Observed<'a> {
    /// The canonical model.
    pub model: Model,
    /// Statistics of its values.
    pub observation: Observation,
    samples: &'a InMemory,
}

/// One thread, without limits.
fn means() -> Means<'static> {
    Means {
        threads: NonZeroUsize::MIN,
        limits: Limits::default(),
        options: PlanOptions::default(),
    }
}

impl Model {
    /// Runs all samples.
    ///
    /// # Errors
    /// As for [`observe()`].
    pub fn observe(self, samples: &InMemory) -> Result<Observed<'_>, CompileError> {
        let requests = Requests::all(&self.module, self.module.main);
        let covered = Coverage::all(samples.0.len() as u64);
        let asked = (&requests, samples as &dyn Samples, &covered);
        let observation = observe((&self.module, &self.bodies), asked, &means(), &Silent)?;
        Ok(Observed {
            model: self,
            observation,
            samples,
        })
    }
}

impl Observed<'_> {
    /// Compiles for one target. `settings` are asked for with the float graph behind the rules of its table, to whose nodes and
    /// values they are resolved.
    ///
    /// # Errors
    /// As for [`compile()`], and those of `settings`.
    pub fn compile<E: From<CompileError>>(
        &self,
        target: &Arc<dyn Target>,
        settings: impl FnOnce(&Module) -> Result<Settings, E>,
    ) -> Result<Built, E> {
        self.with(target, settings, |task| Ok(compile(task, &Silent)?))
    }

    /// Does `work` with the task of compiling for one target.
    ///
    /// # Errors
    /// Those of `settings` and `work`, and what stops the rules of the target or the observation of what they make.
    pub fn with<T, E: From<CompileError>>(
        &self,
        target: &Arc<dyn Target>,
        settings: impl FnOnce(&Module) -> Result<Settings, E>,
        work: impl FnOnce(&Task<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (module, bodies) = (&self.model.module, &self.model.bodies);
        let covered = Coverage::all(self.samples.0.len() as u64);
        let switches = Switches::default();
        let rules = (target.spec(), &switches);
        let own = OfTarget::new((module, &self.observation), rules, &Silent, |module, unmet| {
            let asked = (unmet, self.samples as &dyn Samples, &covered);
            observe((module, bodies), asked, &means(), &Silent)
        })?;
        work(&Task {
            float: &own.module,
            bodies,
            observation: &own.observation,
            target,
            settings: &settings(&own.module)?,
            ranges: &Ranges::default(),
            random_inputs: 3,
            limits: Limits::default(),
            threads: NonZeroUsize::MIN,
        })
    }
}
