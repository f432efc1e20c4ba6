//! Analyses where a compiled model loses accuracy: which part of the quantization costs how many points, which layers cost
//! most and why, and what rules against it bring.

mod points;
mod tried;

use std::sync::Arc;

use strait_compile::TargetLoops;
use strait_target::{Origin, Registry, Target};

use crate::{
    analysis::{Analysed, apart, groups, singles},
    config::{KeyPath, Loaded},
    diagnostic::Diagnostic,
    dialect::expanded,
    failure::codes,
    report::{self, ANALYSIS_SCHEMA, Analysis},
    sanity,
    session::Session,
    stop::Stop,
    targets,
};

use super::{
    Adapter,
    accuracy::integer_side,
    before::before_targets,
    cache,
    job::Job,
    lowered::{self, annotate_with, lower},
    mixed,
    ready::make_ready,
};

/// What is to be analysed.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisRequest {
    /// Number of calibration samples on which layers are measured. `None`: as many as the sanity check uses, at most
    /// eight.
    pub samples: Option<usize>,
    /// Number of rules that are tried.
    pub rules: usize,
}

/// Compiles for one target and analyses the result. Nothing is written.
///
/// # Errors
/// If anything is wrong with the configuration, the model, the samples or the target, if the configuration has several
/// targets or no samples, or if the user interrupts.
pub fn analyze(
    loaded: &Loaded,
    registry: Registry,
    request: AnalysisRequest,
    session: &Session<'_>,
) -> Result<Analysis, Stop> {
    let loaded = &*expanded(loaded, &registry)?;
    let (target, origin) = only(loaded, targets::chosen(loaded, registry, session)?)?;
    let (spec, id) = (target.spec(), target.spec().id.clone());
    let ready = make_ready(loaded, session)?;
    if ready.samples.count() == 0 {
        let path = KeyPath::of(&["calibration", "data"]);
        let found: Diagnostic = loaded.error(codes::EVALUATION, &path, "there are no samples to analyse", "");
        return Err(found
            .help("layers are measured on the first samples of `calibration.data`")
            .into());
    }
    let selection = ready.selection.of_target(&ready.rules.quantize, &id);
    cache::check(loaded, &id, &ready.canonical, true)?;
    lowered::foresee(loaded, &ready, (spec, &selection), session)?;
    let before = before_targets(loaded, &ready, &[spec], session)?;
    let (of_target, selection) = ready.of_target(&before.observation, spec, loaded, session)?;
    let parts = (&*of_target.module, &*of_target.observation, &selection);
    let own = (target.clone(), origin);
    let job = Job::new(loaded, &ready, parts, own, &before.ranges);
    let mixed = mixed::search(&job, session)?;
    let job = mixed.as_ref().map_or(job.clone(), |mixed| mixed.job(&job));
    let lowered = lower(&job, true, session)?;
    let Some(reference) = &before.reference else {
        return Err(Stop::Defect("the float model was not run".into()));
    };
    let loops = TargetLoops(target.clone());
    let integer = integer_side((&lowered.built, ready.tail.as_ref()), &loops, session)?;
    let subject = sanity::Subject {
        canonical: lowered.built.float(job.canonical),
        bodies: &ready.bodies,
        annotated: &lowered.built.annotated,
        spec,
        integer: &lowered.built.module,
        loops: &loops,
        with: &|rules| annotate_with(&job, rules, session),
    };
    let lints = report::of_built(spec, job.canonical, &lowered.built, &of_target.rewritten.counts()).lints;
    let lints = reference.heard(lints, &subject, session)?;
    let samples = request.samples.unwrap_or(reference.count()).min(ready.samples.count());
    let apart = apart(
        &lowered.built,
        (&Adapter::alone(&ready.samples), samples),
        (session, &id),
    )?;
    let measured = points::Measured::new(&before, &job, &lowered.built, (&integer, &loops, &apart), session)?;
    let groups = groups(&lowered.built.annotated);
    let single = singles(&apart, &groups, (session, &id))?;
    let entire = reference.errors(&subject, samples, session)?;
    let analysed = Analysed {
        canonical: lowered.built.float(job.canonical),
        built: &lowered.built,
        observation: job.observation,
        spec,
        lints: &lints,
    };
    let layers = analysed.layers(&groups, &single, &entire);
    let tried = tried::Trial {
        job: &job,
        built: &lowered.built,
        before: &before,
        reference,
        measured: &measured,
        snr: reference.snr(&integer, &format!("sanity ({id})"), session)?,
        loops: &loops,
        session,
    };
    let tried = tried.rules(&layers, request.rules)?;
    Ok(Analysis {
        schema: ANALYSIS_SCHEMA,
        strait: env!("CARGO_PKG_VERSION").to_owned(),
        target: id.to_string(),
        evaluated: before
            .evaluation
            .as_ref()
            .map_or(0, |evaluation| evaluation.samples.count() as u64),
        metrics: measured.metrics,
        samples: samples as u64,
        layers: layers.into_iter().map(|(_, layer)| layer).collect(),
        tried,
    })
}

/// The only target of the configuration.
pub(super) fn only(
    loaded: &Loaded,
    mut targets: Vec<(Arc<dyn Target>, Origin)>,
) -> Result<(Arc<dyn Target>, Origin), Stop> {
    match (targets.pop(), targets.is_empty()) {
        (Some(target), true) => Ok(target),
        (last, _) => {
            let ids = targets
                .iter()
                .chain(&last)
                .map(|(target, _)| format!("`{}`", target.spec().id));
            let ids = ids.collect::<Vec<_>>().join(", ");
            let path = KeyPath::of(&["target", "use"]);
            let message = format!("one target is analysed at a time, and the configuration has {ids}");
            let found: Diagnostic = loaded.error(codes::TARGET, &path, message, "");
            Err(found.help("choose one with `--target`").into())
        }
    }
}
