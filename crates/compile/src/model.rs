//! A float model behind the rules that know no target, and its runs on samples.

use std::num::NonZeroUsize;

use strait_core::{Bodies, Module, Rewritten, Switches, verifier};
use strait_execute::{Demand, Limits, PlanOptions, cost};
use strait_quantize::{
    Observation, ObserveError, Requests,
    observe::{self, Samples},
    statistics::Coverage,
};

use crate::{CompileError, Watch, rules::Layers};

/// A canonical model.
#[derive(Clone, Debug)]
pub struct Model {
    /// The graph.
    pub module: Module,
    /// The bodies of control flow, which lie open in its main graph.
    pub bodies: Bodies,
    /// The steps that the rules took.
    pub rewritten: Rewritten,
    /// The layers as they were before.
    pub layers: Layers,
}

/// The means of runs. None of them changes a bit.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Samples that run at a time, at most.
    pub threads: NonZeroUsize,
    /// The most that they may take.
    pub limits: Limits,
    /// Options of the plans.
    pub options: PlanOptions<'a>,
}

impl Model {
    /// Lays the bodies of control flow open, and applies the rules that know no target.
    ///
    /// # Errors
    /// A model that asks for what cannot be; a defect.
    pub fn new(mut module: Module, switches: &Switches) -> Result<Model, CompileError> {
        let bodies = module.lay_open(module.main);
        let layers = Layers::of(&module);
        let (module, rewritten) = canonicalise(module, switches)?;
        Ok(Model {
            module,
            bodies,
            rewritten,
            layers,
        })
    }
}

/// The module behind the rules that know no target, and what they did.
///
/// # Errors
/// A model that asks for what cannot be; a defect.
pub fn canonicalise(mut module: Module, switches: &Switches) -> Result<(Module, Rewritten), CompileError> {
    let (rules, main) = (strait_rewrite::canonical(), module.main);
    let rewritten = rules.switched(switches).run(&mut module, main)?;
    check_invariants(&module, "canonicalise")?;
    Ok((module, rewritten))
}

/// Runs the samples that are `covered`, and keeps the statistics that `requests` ask for, of values of a canonical module or
/// of one that a target's rules have made of it.
///
/// # Errors
/// Samples that cannot be used, a model that cannot be run or takes too much, an interruption.
pub fn observe(
    (module, bodies): (&Module, &Bodies),
    (requests, samples, covered): (&Requests, &dyn Samples, &Coverage),
    means: &Means<'_>,
    watch: &dyn Watch,
) -> Result<Observation, CompileError> {
    let running = bodies.whole(module).map_err(CompileError::defect)?;
    let gathered = observe::most_bytes(module, module.main, requests, covered.count());
    let demand = Demand::new(cost(&running, running.main)?).observed(gathered);
    let threads = means.limits.admit(&demand, means.threads)?;
    watch.admitted(&demand, covered.count() as usize);
    watch.step("observe", Some(covered.count() as usize), |done| {
        observe::observe(
            module,
            bodies,
            requests,
            samples,
            covered,
            threads,
            &means.options,
            done,
        )
        .map_err(|error| match error {
            ObserveError::Stopped => CompileError::Interrupted,
            ObserveError::Execute(error) => CompileError::Execute(error),
            error => CompileError::Observe(error),
        })
    })
}

/// Holds a module against every invariant of its stage.
///
/// # Errors
/// A defect of the step that it stands behind.
pub fn check_invariants(module: &Module, step: &str) -> Result<(), CompileError> {
    verifier::verify(module).map_err(|violations| CompileError::Defect(format!("behind {step}: {violations}")))
}
