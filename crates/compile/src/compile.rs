//! Compiles a model for one target, in steps.

use crate::built::{Built, Kept, Revision};
use crate::task::Task;
use std::sync::{Arc, Mutex};

use strait_execute::{Demand, Plan, Threads, both, each};
use strait_optimize::Optimised;
use strait_target::spec::Measured;
use strait_verify::{VerifyError, VerifyOptions, verify_and_keep};

use crate::{
    CompileError, TargetLoops, Watch, blame, check_invariants,
    fuse::{certificates, closed, fused},
    optimise::optimise,
    own_model,
    quantize::quantize_from,
};

/// Compiles for one target and checks the result: calls [`build`], then [`hold`].
///
/// # Errors
/// Errors of [`build`] and [`hold`], or the caller has asked to stop.
pub fn compile(task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
    let mut built = build(task, watch)?;
    hold(task, &mut built, watch)?;
    Ok(built)
}

/// Checks a built model. The requantizations are compared with the target's own model of its arithmetic, and the fused
/// graph is compared with the lowered graph. Returns the plan for the fused graph with the target's kernels, if it was run.
///
/// # Errors
/// Layers fail the check, a run fails or takes more than its limits allow, or the caller has asked to stop.
pub fn hold(task: &Task<'_>, built: &mut Built, watch: &dyn Watch) -> Result<Option<Plan>, CompileError> {
    let of_runs = || Demand::comparing(built.open()).map_err(CompileError::from);
    let (demand, ()) = both(task.threads, of_runs, || check_invariants(built.open(), "fuse"))?;
    task.limits.admit(&demand, task.threads)?;
    watch.admitted(&demand, 1);
    let (held, plan) = watch.step("verify", None, |_| {
        let held = own_model::hold(task.target.as_ref(), built.open())?;
        Ok::<_, CompileError>((held, verify(task, built)?))
    })?;
    built.own_model = held;
    Ok(plan)
}

/// Places, annotates, bakes and lowers the nodes, and repeats this until no node is refused any more. Then fuses the
/// lowered graph.
///
/// # Errors
/// The settings require integers for nodes that cannot run in integers, code of the target fails, or the compiler has a
/// defect.
pub fn build(task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
    build_from(task, None, watch)
}

/// Like [`build`], but takes over from `before` everything that the new rules do not change.
pub(crate) fn build_from(task: &Task<'_>, before: Option<&Built>, watch: &dyn Watch) -> Result<Built, CompileError> {
    let first = before.and_then(|before| before.kept.first.as_ref());
    let plain = watch.step("quantize", None, |_| quantize_from(task, &Optimised::default(), first))?;
    let (quantized, optimised) = optimise(task, plain, watch)?;
    let revision = before.map(|before| Revision::new(before, &quantized));
    let lowered = quantized.lowered;
    // Nothing of the integer model depends on its nearness to the ideal functions, so both are made at the same time.
    let near = |&(name, measured): &(&String, &Measured)| Some((name.clone(), measured.nearness()?));
    let measured: Vec<(&String, &Measured)> = lowered.nearness.iter().collect();
    let (nearness, (module, fusion)) = watch.step("fuse", None, |_| {
        both(
            task.threads,
            || Ok(each(task.threads, &measured, &near).into_iter().flatten().collect()),
            || fused(task, lowered.module),
        )
    })?;
    let (module, open) = closed(task.bodies, module)?;
    Ok(Built {
        module,
        open,
        annotated: quantized.annotated,
        optimised,
        findings: quantized.findings,
        own_grids: quantized.own_grids,
        origins: lowered.origins,
        nearness,
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

/// Runs the fused graph with the target's kernels, and compares its results with those of the lowered graph. The code
/// that compares is independent of the compiler. A difference is a defect of the compiler or of the target's code
/// (`blame.rs`). Returns the plan for the fused graph, if it was run. The module has to satisfy its invariants.
///
/// # Errors
/// Layers with different results, or a run that fails.
pub fn verify(task: &Task<'_>, built: &Built) -> Result<Option<Plan>, CompileError> {
    let (module, certificates) = (built.open(), built.certificates.as_slice());
    let threads = Threads::new(task.threads);
    let loops = TargetLoops(task.target.clone());
    let options = VerifyOptions {
        samples: task.random_inputs,
        ranges: Some(task.ranges),
        loops: &loops,
        ..VerifyOptions::new(&threads)
    };
    let (report, plan) = verify_and_keep(module, certificates, &options).map_err(|error| match error {
        VerifyError::Execute { source, .. } => CompileError::Execute(source),
        error => CompileError::Defect(format!("the integer model cannot be verified: {error}")),
    })?;
    match report.is_sound() {
        true => Ok(plan),
        false => Err(blame::error(task, module, certificates, &report.findings, &threads)),
    }
}
