//! One target: from the canonical module to integers.

use std::{collections::BTreeMap, sync::Arc};

use strait_container::CertificateRecord;
use strait_core::{GraphId, Module, PassError, Term, verifier};
use strait_execute::Threads;
use strait_lower::{Fusion, FusionPolicy, LowerError, Until, fuse, lower};
use strait_quantize::{
    Annotation, Observation, annotate,
    annotate::{Ranges, place, refuse},
};
use strait_target::{
    Options, Target, TargetSpec,
    spec::{Difference, Format, Nearness},
};
use strait_verify::VerifyOptions;

use crate::{
    config::{self, KeyPath, Loaded, types::Refused},
    diagnostic::{Diagnostic, Diagnostics},
    failure::{self, codes},
    limits::Demand,
    session::Session,
    stop::Stop,
    targets::TargetLoops,
};

use super::{
    directives::{self, Wishes},
    select::Selection,
};

/// What the phases of one target start from.
pub(super) struct Job<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) canonical: &'a Module,
    pub(super) selection: &'a Selection,
    pub(super) observation: &'a Observation,
    pub(super) target: Arc<dyn Target>,
    /// Of the target, defaults filled in.
    pub(super) options: Options,
    /// What is written besides the artifact.
    pub(super) formats: Vec<Format>,
}

/// The integer model of one target.
pub(super) struct Lowered {
    /// The lowered graph, and the fused one, which is `main`, over one pool of tensors.
    pub(super) module: Module,
    /// The annotated float graph that it was made from.
    pub(super) annotated: Module,
    pub(super) fusion: Fusion,
    /// The terms of the ops that its nodes were made from, by the nodes' names.
    pub(super) origins: BTreeMap<String, Term>,
    /// How near requantizations are to the ideal, by their names.
    pub(super) nearness: BTreeMap<String, Nearness>,
    /// What the fusions claim.
    pub(super) certificates: Vec<CertificateRecord>,
}

/// Places, annotates, lowers and fuses, each as a phase of the session.
pub(super) fn lowered(job: &Job<'_>, session: &Session<'_>) -> Result<Lowered, Stop> {
    let spec = job.target.spec();
    let id = spec.id.as_str();
    let named = |phase: &str| format!("{phase} ({id})");
    let wishes = directives::wishes(job.canonical, job.loaded, job.selection, spec)?;
    let (annotated, integer) = session.phase(&named("quantize"), None, |_| quantized(job, spec, &wishes))?;
    let (module, fusion) = session.phase(&named("fuse"), None, |_| fused(job, integer.module))?;
    unfused(job.loaded, &fusion)?;
    let certificates: Vec<CertificateRecord> = fusion
        .fired
        .iter()
        .map(|fired| CertificateRecord {
            node: fired.value.clone(),
            row: fired.row.clone(),
            certificate: fired.certificate.clone(),
        })
        .collect();
    session.admit(&Demand::comparing(&module).map_err(failure::execute)?, 1)?;
    session.phase(&named("verify"), None, |_| verify(job, &module, &certificates, session))?;
    Ok(Lowered {
        module,
        annotated,
        fusion,
        origins: integer.origins,
        nearness: integer.nearness,
        certificates,
    })
}

/// Holds the fused graph against the lowered one, by other means than those that made it. What does not hold is our
/// defect, or that of the target's code; nothing is written then.
fn verify(
    job: &Job<'_>,
    module: &Module,
    certificates: &[CertificateRecord],
    session: &Session<'_>,
) -> Result<(), Stop> {
    whole(module, "fuse")?;
    let threads = Threads::new(session.threads).map_err(failure::execute)?;
    let loops = TargetLoops(job.target.clone());
    let options = VerifyOptions {
        samples: 1,
        loops: &loops,
        ..VerifyOptions::new(&threads)
    };
    let report = strait_verify::verify_module(module, certificates, &options)
        .map_err(|error| Stop::Defect(format!("the integer model cannot be verified: {error}")))?;
    if report.is_sound() {
        return Ok(());
    }
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    Err(Stop::Defect(format!(
        "the integer model does not hold: {}",
        findings.join("; ")
    )))
}

/// Holds a module against every invariant of its stage.
pub(super) fn whole(module: &Module, behind: &str) -> Result<(), Stop> {
    verifier::verify(module).map_err(|violation| Stop::Defect(format!("behind {behind}: {violation}")))
}

/// The annotated module and the lowered one.
///
/// Nodes that their recipe refuses move to the host, all of them at once, and the graph is annotated and lowered again.
/// What was moved stays there, so there are at most as many turns as nodes; observers run once for each value.
fn quantized(job: &Job<'_>, spec: &TargetSpec, wishes: &Wishes) -> Result<(Module, strait_lower::Lowered), Stop> {
    let mut module = job.canonical.clone();
    let main = module.main;
    let how = Annotation {
        spec,
        observation: job.observation,
        observer: wishes.observer.clone(),
        weight_per: wishes.weight_per,
        directives: wishes.directives.clone(),
        placing: &wishes.placing,
    };
    let mut ranges = Ranges::default();
    place(&mut module, main, spec, &wishes.placing);
    loop {
        directives::keep(job.loaded, job.selection, spec, &module, &wishes.placing)?;
        annotate(&mut module, main, &how, &mut ranges).map_err(|error| Stop::Defect(error.to_string()))?;
        directives::keep(job.loaded, job.selection, spec, &module, &wishes.placing)?;
        whole(&module, "annotate")?;
        match lower(&module, spec) {
            Ok(integer) => {
                whole(&integer.module, "lower")?;
                return Ok((module, integer));
            }
            Err(LowerError::Nodes(nodes)) => {
                if !refuse(module.main_mut(), spec, &wishes.placing, nodes) {
                    return Err(Stop::Defect("a node on the host was lowered".to_owned()));
                }
            }
            Err(LowerError::Ours(text)) => return Err(Stop::Defect(text)),
        }
    }
}

/// Beside the lowered graph a copy of it, with the requantizations fused: the main graph.
fn fused(job: &Job<'_>, mut module: Module) -> Result<(Module, Fusion), Stop> {
    let mut main = module.main().clone();
    main.name = module.names.fresh("main");
    module.graphs.push(main);
    module.main = GraphId::new(module.graphs.len() - 1);
    let policy = policy(&job.loaded.config.fusion, job.target.spec());
    let main = module.main;
    let fusion = fuse(&mut module, main, job.target.as_ref(), &job.options, policy)
        .map_err(|error| Stop::Defect(format!("fusing for `{}`: {error}", job.target.spec().id)))?;
    Ok((module, fusion))
}

/// Which fusions are made: as the configuration says, else as the target's table does.
fn policy(config: &config::types::Fusion, spec: &TargetSpec) -> FusionPolicy {
    let default = &spec.fusion_default;
    match config.accept.unwrap_or(default.accept) {
        Difference::Exact => FusionPolicy::Exact,
        Difference::Bounded => {
            let bound = config.accept.map_or(default.bound(), |_| config.max_lsb);
            FusionPolicy::Bounded(bound.unwrap_or(1))
        }
        Difference::Any => FusionPolicy::Any,
    }
}

/// With `refused = "error"` every site that a row of the table is for, and that it does not fuse, is one.
fn unfused(loaded: &Loaded, fusion: &Fusion) -> Result<(), Stop> {
    if loaded.config.fusion.refused == Refused::Keep {
        return Ok(());
    }
    let path = KeyPath::of(&["fusion", "refused"]);
    let sites = fusion.refused.iter().filter(|refused| refused.has_row());
    let findings = sites.map(|refused| {
        let row = refused.row.as_ref().map(|row| format!(" by the row `{row}`"));
        let message = format!(
            "the requantization behind `{}` is not fused{}: {}",
            refused.node,
            row.unwrap_or_default(),
            refused.reason.text
        );
        let finding = loaded.error(codes::FUSION, &path, message, "asked for here");
        match refused.tried.first() {
            Some(attempt) if attempt.until == Until::Policy => {
                finding.help("`accept` and `max_lsb` in [fusion] say which differences may be made")
            }
            _ => finding,
        }
    });
    let findings: Vec<Diagnostic> = findings.collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Diagnostics(findings).into())
    }
}

/// A pass that stopped: our defect, unless it says that the model is at fault.
pub(super) fn pass(error: PassError) -> Stop {
    match error {
        PassError::Model(reason) => Diagnostic::error(codes::MODEL, format!("model: {}", reason.text)).into(),
        other => Stop::Defect(other.to_string()),
    }
}
