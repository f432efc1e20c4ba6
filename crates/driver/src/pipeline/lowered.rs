//! Compiles for one target: makes the integer model from the canonical module.

use std::collections::BTreeMap;

use crate::pipeline::job::Job;

use strait_compile::{
    Balance, Built, CompileError, GivenGrid, OnCopy, Optimising, Resolved, Task, fusion_policy,
    rules::{self, GivenGrids, Rule, Rules, Selection},
};
use strait_core::{Module, NodeId};
use strait_execute::Plan;
use strait_lower::{Fusion, Until};
use strait_quantize::{Requests, Settings};
use strait_target::spec::TargetSpec;

use crate::{
    config::{
        KeyPath, Loaded,
        types::{FileType, Refused},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    session::{Session, Steps},
    stop::Stop,
};

use super::{cache, denied, given, model_grids, observe::Adapter, params, ready::Ready, record};

/// The integer model for one target, with remarks on the scales that the source model has.
pub(super) struct Lowered {
    pub(super) settings: Settings,
    pub(super) built: Built,
    pub(super) remarks: Vec<Diagnostic>,
    /// The plan with which the fused graph was verified, as it is deployed.
    pub(super) plan: Option<Plan>,
}

/// Before anything is observed, refuses a model whose integer version would not fit the memory limit.
pub(super) fn foresee(
    loaded: &Loaded,
    ready: &Ready,
    (spec, selection): (&TargetSpec, &Selection),
    session: &Session<'_>,
) -> Result<(), Stop> {
    let settings =
        rules::settings(&ready.canonical, &ready.rules, selection, spec).map_err(|found| loaded.told(found))?;
    let module = (&ready.canonical, &ready.bodies);
    Ok(strait_compile::foresee(module, (spec, &settings), &session.limits)?)
}

/// Compiles the model to integers for one target, and checks that the result meets the requirements of the
/// configuration. If `is_revised`, other models will be made from the result ([`build_with`]).
pub(super) fn lower(job: &Job<'_>, is_revised: bool, session: &Session<'_>) -> Result<Lowered, Stop> {
    made(job, (is_revised, true), None, session)
}

/// The same as [`lower`], but the fused graph is not compared with the lowered one. Such a model is only measured, and not
/// written. Takes over from `before`, a model of the same module and statistics, what the settings do not change.
pub(super) fn trial(job: &Job<'_>, before: Option<&Built>, session: &Session<'_>) -> Result<Lowered, Stop> {
    made(job, (true, false), before, session)
}

fn made(
    job: &Job<'_>,
    (is_revised, is_held): (bool, bool),
    before: Option<&Built>,
    session: &Session<'_>,
) -> Result<Lowered, Stop> {
    let resolved = resolve(job)?;
    let samples = Adapter::shared(&job.ready.samples, session);
    let moved = params::Moved::of(job.params);
    let on_copy = moved.as_ref().map(|moved| {
        move |float: &Module, factors: &BTreeMap<NodeId, Balance>, own: &Resolved| moved.settings(float, factors, own)
    });
    let task = Task {
        is_revised,
        optimise: optimising(job, &samples),
        on_copy: on_copy.as_ref().map(|on_copy| on_copy as &OnCopy<'_>),
        ..job.task(&resolved, session)
    };
    let steps = Steps {
        session,
        target: job.id(),
    };
    let built = match before {
        None => strait_compile::build(&task, &steps),
        Some(before) => before.rebuild(&task, &steps),
    };
    if let Some(moved) = &moved {
        moved.held(built.as_ref().ok())?;
    }
    let mut built = built.map_err(|error| stop(job, &resolved.settings, error))?;
    if job.has_nothing_measured() {
        model_grids::without_samples(job.loaded, &built.annotated)?;
    }
    let mut remarks = match job.params {
        Some(given) => {
            let resolved = built.migrated().map_or(&resolved, |copy| &copy.resolved);
            let own = (&resolved.settings, &*resolved.given);
            params::held(given, &built.annotated, job.target.spec(), own)?
        }
        None => Vec::new(),
    };
    unfused(job.loaded, &built.fusion)?;
    let mut plan = None;
    if is_held {
        // The float weights have been quantized. Two plans with the weights of the integer model take their place.
        strait_mapped::release();
        let held = strait_compile::hold(&task, &mut built, &steps);
        plan = held.map_err(|error| stop(job, &resolved.settings, error))?;
    }
    if model_grids::has_some(&job.ready.canonical) {
        remarks.extend(model_grids::remarks(&built.annotated, &built.own_grids));
    }
    remarks.extend(
        job.has_nothing_measured()
            .then(|| model_grids::nothing_measured(&job.ready.canonical)),
    );
    Ok(Lowered {
        settings: resolved.settings,
        built,
        remarks,
        plan,
    })
}

/// The same model as that of [`lower`] without algorithms, but not checked.
pub(super) fn unverified(job: &Job<'_>, session: &Session<'_>) -> Result<Lowered, Stop> {
    let resolved = resolve(job)?;
    let steps = Steps {
        session,
        target: job.id(),
    };
    let built = strait_compile::build(&job.task(&resolved, session), &steps);
    let built = built.map_err(|error| stop(job, &resolved.settings, error))?;
    Ok(Lowered {
        settings: resolved.settings,
        built,
        remarks: Vec::new(),
        plan: None,
    })
}

/// The annotated module that [`lower`] lowers, with its parameters quantized.
pub(super) fn annotate(job: &Job<'_>, session: &Session<'_>) -> Result<Module, Stop> {
    let phase = format!("quantize ({})", job.id());
    session.phase(&phase, None, |_| annotated(job, session))
}

fn annotated(job: &Job<'_>, session: &Session<'_>) -> Result<Module, Stop> {
    let resolved = resolve(job)?;
    let quantized = strait_compile::quantize(&job.task(&resolved, session));
    let quantized = quantized.map_err(|error| stop(job, &resolved.settings, error))?;
    Ok(quantized.annotated)
}

/// The same as [`annotate_with`], but not as a phase of its own.
pub(super) fn annotated_with(job: &Job<'_>, rules: Vec<Rule>, session: &Session<'_>) -> Result<Module, Stop> {
    let (rules, selection) = extended(job, rules);
    let job = Job {
        rules: &rules,
        selection: &selection,
        ..job.clone()
    };
    annotated(&job, session)
}

/// Returns the annotated module that would result if the configuration had the additional rules `rules`. These rules
/// name layers or tensors.
pub(super) fn annotate_with(job: &Job<'_>, rules: Vec<Rule>, session: &Session<'_>) -> Result<Module, Stop> {
    let (rules, selection) = extended(job, rules);
    let job = Job {
        rules: &rules,
        selection: &selection,
        ..job.clone()
    };
    annotate(&job, session)
}

/// Compiles again with additional rules, like [`lower`], but does not check the result. `before` is the model without
/// these rules. Returns `None` if the rules need statistics that were not observed.
pub(super) fn build_with(
    job: &Job<'_>,
    rules: Vec<Rule>,
    before: &Built,
    session: &Session<'_>,
) -> Result<Option<Built>, Stop> {
    let (rules, selection) = extended(job, rules);
    let job = Job {
        rules: &rules,
        selection: &selection,
        ..job.clone()
    };
    let requests = rules::requests(job.canonical, job.rules, job.selection).map_err(|found| job.loaded.told(found))?;
    let unmet = requests.unmet(job.canonical, job.canonical.main, job.observation);
    if !unmet.is_empty() {
        return Ok(None);
    }
    let resolved = resolve(&job)?;
    let samples = Adapter::shared(&job.ready.samples, session);
    let task = Task {
        is_revised: true,
        optimise: optimising(&job, &samples),
        ..job.task(&resolved, session)
    };
    let steps = Steps {
        session,
        target: job.id(),
    };
    let built = before.rebuild(&task, &steps);
    built.map(Some).map_err(|error| stop(&job, &resolved.settings, error))
}

/// The rules of a job and additional ones, with what all of them select.
pub(super) fn extended(job: &Job<'_>, rules: Vec<Rule>) -> (Rules, Selection) {
    let (mut all, mut selection) = (job.rules.clone(), job.selection.clone());
    for rule in rules {
        let known = &mut all.quantize.rule;
        selection.extend(job.canonical, &rule, known.len());
        known.push(rule);
    }
    (all, selection)
}

/// How codes and biases are optimised, if the configuration asks for it.
fn optimising<'a>(job: &Job<'_>, samples: &'a Adapter<'a>) -> Option<Optimising<'a>> {
    job.algorithms.map(|algorithms| Optimising { samples, algorithms })
}

/// Resolves the configuration for the module of the job, and adds the scales that come from the calling program or from
/// a record of a vendor's tool.
fn resolve(job: &Job<'_>) -> Result<Resolved, Stop> {
    let (spec, config) = (job.target.spec(), &job.loaded.config);
    let mut settings =
        rules::settings(job.canonical, job.rules, job.selection, spec).map_err(|found| job.loaded.told(found))?;
    if job.target.counts_outputs() {
        for (id, ties) in job.ready.outputs.ties(job.canonical) {
            settings.layers.entry(id).or_default().weights.ties = Some(ties);
        }
    }
    cache::leave_in_float(job.loaded, job.id(), job.canonical, &mut settings)?;
    let given = job.loaded.given.iter();
    let mut grids: Vec<GivenGrid> = given
        .map(|given| given::on_node(given, job.canonical))
        .collect::<Result<_, _>>()?;
    if let Some(record) = &job.ready.record {
        grids.extend(record::grids(job, record, &mut settings)?);
    }
    // Those of a model in which scale was moved are for its copy.
    if let Some(given) = job.params.filter(|params| params.factors.is_none()) {
        params::give(given, job.canonical, &mut settings, &mut grids)?;
    }
    Ok(Resolved {
        settings,
        given: grids,
        requests: Requests::default(),
        outputs_are_codes: (config.output.target.get(job.id())).is_some_and(|own| own.outputs != FileType::Float),
        requantizes: job.rules.quantize.given == Some(GivenGrids::Requantize),
        fusion: fusion_policy(spec, config.fusion.accept, config.fusion.max_lsb),
    })
}

/// Converts an error of the compiler. If the configuration requires something impossible, the result points to the
/// lines that require it.
fn stop(job: &Job<'_>, settings: &Settings, error: CompileError) -> Stop {
    match error {
        CompileError::Denied(denied) => denied::denied(job, settings, &denied).into(),
        other => other.into(),
    }
}

/// With `refused = "error"`, returns an error for every requantization that was not fused although the target has a
/// fusion row for it.
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
    Ok(Diagnostics(findings.collect()).or(())?)
}
