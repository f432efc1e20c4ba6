//! A float model to which the rules that are the same for every target were applied, and its runs on samples.

use std::num::NonZeroUsize;

use strait_core::{Bodies, Module, Rewritten, Switches, verifier};
use strait_execute::{Demand, Limits, PlanOptions, cost};
use strait_quantize::{
    Observation, ObserveError, Requests,
    observe::{self, Samples},
    statistics::Coverage,
};

use crate::{CompileError, Watch, device::take_bytes, rules::Layers};

/// A model in canonical form, which is the same for every target.
#[derive(Clone, Debug)]
pub struct Model {
    /// The canonical graph.
    pub module: Module,
    /// The bodies of control flow. The main graph has them inlined.
    pub bodies: Bodies,
    /// What the rewrite rules have changed.
    pub rewritten: Rewritten,
    /// The layers that the model had before rewriting.
    pub layers: Layers,
}

/// The resources that runs may use. The results do not depend on them.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The largest number of samples that run at the same time.
    pub threads: NonZeroUsize,
    /// The limits that the runs must not exceed.
    pub limits: Limits,
    /// Options for the plans that the executor makes.
    pub options: PlanOptions<'a>,
}

impl Model {
    /// Inlines the bodies of control flow, and applies the rules that are the same for every target.
    ///
    /// # Errors
    /// The model contains something that cannot be compiled, or the compiler has a defect.
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

/// Applies the rules that are the same for every target. Returns the module and what the rules have changed.
///
/// # Errors
/// The model contains something that cannot be compiled, or the compiler has a defect.
pub fn canonicalise(mut module: Module, switches: &Switches) -> Result<(Module, Rewritten), CompileError> {
    take_bytes(&mut module).map_err(CompileError::defect)?;
    let (rules, main) = (strait_rewrite::canonical(), module.main);
    let rewritten = rules.switched(switches).run(&mut module, main)?;
    check_invariants(&module, "canonicalise")?;
    Ok((module, rewritten))
}

/// Runs the `covered` samples and collects the statistics that `requests` ask for. The module is the canonical module,
/// or a module that the rules of a target have made from it.
///
/// # Errors
/// Samples cannot be used, the model cannot be run or takes more than its limits allow, or the caller has asked to
/// stop.
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

/// Checks that a module satisfies every invariant of its stage.
///
/// # Errors
/// The module violates an invariant. This is a defect of `step`, the step that made the module.
pub fn check_invariants(module: &Module, step: &str) -> Result<(), CompileError> {
    verifier::verify(module).map_err(|violations| CompileError::Defect(format!("behind {step}: {violations}")))
}
