//! The way of one target, step by step.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use strait_core::CertificateRecord;
use strait_core::{Bodies, Module};
use strait_execute::{Demand, Limits, Threads};
use strait_lower::Fusion;
use strait_quantize::{Observation, annotate::Findings};
use strait_target::{Target, spec::Nearness};
use strait_verify::{Ranges, VerifyError, VerifyOptions, verify_module};

use crate::{
    CompileError, OwnGrids, Resolved, Shares, TargetLoops, Watch, blame, check_invariants,
    fuse::{certificates, closed, fused},
    own_model,
    quantize::quantize_from,
    revise::{Kept, Revision},
};

/// All that the compilation for one target rests on.
#[derive(Clone)]
pub struct Task<'a> {
    /// The float graph, behind the rules of the target's table.
    pub float: &'a Module,
    /// The bodies of control flow, which lie open in its main graph.
    pub bodies: &'a Bodies,
    /// The statistics of its values.
    pub observation: &'a Observation,
    /// For which target.
    pub target: &'a Arc<dyn Target>,
    /// The rules, resolved to the float graph.
    pub resolved: &'a Resolved,
    /// The integers of the samples, by input, which random inputs have.
    pub ranges: &'a Ranges,
    /// Random inputs on which the fused graph is held against the lowered one.
    pub random_inputs: usize,
    /// The most that a run may take.
    pub limits: Limits,
    /// Threads to work on. They change no bit.
    pub threads: NonZeroUsize,
}

/// The integer model of one target.
#[derive(Debug)]
pub struct Built {
    /// The lowered graph, and the fused one, which is `main`, over one pool of tensors.
    pub module: Module,
    /// The same where there are bodies of control flow, with these open in both graphs.
    pub open: Option<Module>,
    /// The annotated float graph that it was made from, with its parameters baked.
    pub annotated: Module,
    /// Findings of annotation, which cost accuracy.
    pub findings: Findings,
    /// The fate of the grids that the model came with.
    pub own_grids: OwnGrids,
    /// The rows of the target's table by which nodes of the lowered graph were made, by the nodes' names.
    pub origins: BTreeMap<String, String>,
    /// Nearness of requantizations to the ideal, by their names.
    pub nearness: BTreeMap<String, Nearness>,
    /// The fusions, and those that were refused.
    pub fusion: Fusion,
    /// Claims of the fusions.
    pub certificates: Vec<CertificateRecord>,
    /// The layers that were held against the target's own model of its arithmetic, where it has one and [`hold`] has asked it.
    pub own_model: Option<Shares>,
    /// The part of it that was made anew, if it is a revision.
    pub revision: Option<Revision>,
    pub(crate) kept: Kept,
}

impl Built {
    /// The module with the bodies of control flow open in both graphs.
    pub fn open(&self) -> &Module {
        self.open.as_ref().unwrap_or(&self.module)
    }
}

/// Compiles for one target, and holds the result against what it was made from: [`build`], then [`hold`].
///
/// # Errors
/// Those of both; an interruption.
pub fn compile(task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
    let mut built = build(task, watch)?;
    hold(task, &mut built, watch)?;
    Ok(built)
}

/// Holds what was built against the target's own model of its arithmetic, and the fused graph against the lowered one.
///
/// # Errors
/// Layers that do not hold; a run that fails or takes more than it may; an interruption.
pub fn hold(task: &Task<'_>, built: &mut Built, watch: &dyn Watch) -> Result<(), CompileError> {
    let demand = Demand::comparing(built.open())?;
    task.limits.admit(&demand, task.threads)?;
    watch.admitted(&demand, 1);
    built.own_model = watch.step("verify", None, |_| {
        let held = own_model::hold(task.target.as_ref(), built.open())?;
        verify(task, built)?;
        Ok::<_, CompileError>(held)
    })?;
    Ok(())
}

/// Places, annotates, bakes and lowers, in turns; then fuses.
///
/// # Errors
/// Nodes that settings want in integers and that cannot be; code of the target that fails; a defect.
pub fn build(task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
    build_from(task, None, watch)
}

/// [`build`], by way of what was built before.
pub(crate) fn build_from(task: &Task<'_>, before: Option<&Built>, watch: &dyn Watch) -> Result<Built, CompileError> {
    let first = before.and_then(|before| before.kept.first.as_ref());
    let quantized = watch.step("quantize", None, |_| quantize_from(task, first))?;
    let revision = before.map(|before| Revision::new(before, &quantized));
    let lowered = quantized.lowered;
    let (module, fusion) = watch.step("fuse", None, |_| fused(task, lowered.module))?;
    let (module, open) = closed(task.bodies, module)?;
    Ok(Built {
        module,
        open,
        annotated: quantized.annotated,
        findings: quantized.findings,
        own_grids: quantized.own_grids,
        origins: lowered.origins,
        nearness: lowered.nearness,
        certificates: certificates(&fusion),
        fusion,
        own_model: None,
        revision,
        kept: Kept {
            first: quantized.first,
            target: task.target.clone(),
            bodies: task.bodies.clone(),
            limits: task.limits,
            threads: task.threads,
            simulated: before.map_or_else(Default::default, |before| {
                let [last, _] = &before.kept.simulated;
                [Arc::new(Mutex::new(before.simulated())), last.clone()]
            }),
        },
    })
}

/// Holds the fused graph against the lowered one, by other means than those that made it, on the target's loops. What does
/// not hold is our defect, or that of the target's code (`blame.rs`).
///
/// # Errors
/// The layers that do not hold; a run that fails.
pub fn verify(task: &Task<'_>, built: &Built) -> Result<(), CompileError> {
    let (module, certificates) = (built.open(), built.certificates.as_slice());
    check_invariants(module, "fuse")?;
    let threads = Threads::new(task.threads);
    let loops = TargetLoops(task.target.clone());
    let options = VerifyOptions {
        samples: task.random_inputs,
        ranges: Some(task.ranges),
        loops: &loops,
        ..VerifyOptions::new(&threads)
    };
    let report = verify_module(module, certificates, &options).map_err(|error| match error {
        VerifyError::Execute { source, .. } => CompileError::Execute(source),
        error => CompileError::Defect(format!("the integer model cannot be verified: {error}")),
    })?;
    match report.is_sound() {
        true => Ok(()),
        false => Err(blame::error(task, module, certificates, &report.findings, &threads)),
    }
}
