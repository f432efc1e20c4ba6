//! Analyses where a compiled model loses accuracy: which part of the quantization costs how many points, which layers cost
//! most and why, and what rules against it bring.

mod points;
mod tried;

use strait_compile::TargetLoops;
use strait_target::Registry;

use crate::{
    analysis::{Analysed, apart, groups, singles},
    config::Loaded,
    dialect::expanded,
    report::{self, ANALYSIS_SCHEMA, Analysis},
    sanity,
    session::Session,
    stop::Stop,
};

use super::{
    Adapter,
    accuracy::integer_side,
    before::before_targets,
    job::Job,
    lowered::{annotate_with, lower},
    mixed,
    single::Single,
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
    let Single { target, origin, ready } = Single::new(loaded, registry, session)?;
    let (spec, id) = (target.spec(), target.spec().id.clone());
    let mut before = before_targets(loaded, &ready, &[spec], session)?;
    before.kept(Ok(()), session)?;
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
