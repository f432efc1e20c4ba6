//! One target: from the canonical module to integers.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use strait_container::CertificateRecord;
use strait_core::{Bodies, Failure, GraphId, Module, PassError, Refusal, Switches, verifier};
use strait_execute::Threads;
use strait_import::FreeDimension;
use strait_lower::{Fusion, FusionPolicy, LowerError, Turns, Until, fuse};
use strait_quantize::{
    Annotation, Observation, annotate,
    annotate::{Findings, Progress, place, refuse, refused_by_code, requantized, take_model_grids, widen},
};
use strait_target::{
    Origin, Target, TargetSpec,
    spec::{Difference, Format, Nearness},
};
use strait_verify::{Ranges, VerifyError, VerifyOptions};

use crate::{
    config::{
        self, Given, KeyPath, Loaded,
        types::{GivenGrids, Refused, Rule},
    },
    diagnostic::{Diagnostic, Diagnostics, SourceText},
    failure::{self, codes},
    limits::Demand,
    session::Session,
    shares::Shares,
    stop::Stop,
    targets::TargetLoops,
};

use super::{
    blame,
    directives::{self, Wishes},
    model_grids::{self, Misfits},
    outputs::Outputs,
    own_model, record,
    selection::Selection,
};

/// Input of the phases of one target.
#[derive(Clone)]
pub(super) struct Job<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) canonical: &'a Module,
    /// The bodies of control flow, which lie open in its main graph.
    pub(super) bodies: &'a Bodies,
    pub(super) selection: &'a Selection,
    pub(super) observation: &'a Observation,
    pub(super) target: Arc<dyn Target>,
    /// Where it comes from.
    pub(super) origin: Origin,
    /// Formats that are written besides the artifact.
    pub(super) formats: Vec<Format>,
    /// The integers of the calibration samples, by input.
    pub(super) ranges: &'a Ranges,
    /// The record that has the grids, in the place of samples.
    pub(super) record: Option<&'a Arc<SourceText>>,
    /// The rules that are off.
    pub(super) switches: &'a Switches,
    /// The dimensions that are the batch, and that nobody has bound.
    pub(super) batch: &'a [FreeDimension],
    /// The outputs of the model's layers, as it has them.
    pub(super) outputs: &'a Outputs,
}

impl Job<'_> {
    /// True where neither samples nor a record say anything of ranges: the grids are those of the model.
    pub(super) fn has_nothing_measured(&self) -> bool {
        self.record.is_none() && self.loaded.config.calibration.data.is_none()
    }
}

/// The integer model of one target.
pub(super) struct Lowered {
    /// The lowered graph, and the fused one, which is `main`, over one pool of tensors.
    pub(super) module: Module,
    /// The same where there are bodies of control flow, with these open in both graphs.
    open: Option<Module>,
    /// The annotated float graph that it was made from.
    pub(super) annotated: Module,
    /// Findings of annotation, which cost accuracy.
    pub(super) findings: Findings,
    /// Remarks on the grids that the model has.
    pub(super) remarks: Vec<Diagnostic>,
    pub(super) fusion: Fusion,
    /// The rows of the target's table by which its nodes were made, by the nodes' names.
    pub(super) origins: BTreeMap<String, String>,
    /// Nearness of requantizations to the ideal, by their names.
    pub(super) nearness: BTreeMap<String, Nearness>,
    /// Claims of the fusions.
    pub(super) certificates: Vec<CertificateRecord>,
    /// The layers that were held against the target's own model, where it has one.
    pub(super) own_model: Option<Shares>,
}

impl Lowered {
    /// The module with the bodies of control flow open in both graphs.
    pub(super) fn open(&self) -> &Module {
        self.open.as_ref().unwrap_or(&self.module)
    }
}

/// Places, annotates, lowers and fuses, each as a phase of the session.
pub(super) fn lowered(job: &Job<'_>, session: &Session<'_>) -> Result<Lowered, Stop> {
    let spec = job.target.spec();
    let id = spec.id.as_str();
    let named = |phase: &str| format!("{phase} ({id})");
    let wishes = wishes(job, spec)?;
    let Quantized {
        annotated,
        integer,
        findings,
        remarks,
    } = session.phase(&named("quantize"), None, |_| quantized(job, spec, &wishes, session))?;
    let (module, fusion) = session.phase(&named("fuse"), None, |_| fused(job, integer.module))?;
    unfused(job.loaded, &fusion)?;
    let (module, open) = closed(job, module)?;
    let shown = open.as_ref().unwrap_or(&module);
    let certificates: Vec<CertificateRecord> = fusion
        .fired
        .iter()
        .map(|fired| CertificateRecord {
            node: fired.value.clone(),
            row: fired.row.clone(),
            certificate: fired.certificate.clone(),
        })
        .collect();
    session.admit(&Demand::comparing(shown).map_err(failure::execute)?, 1)?;
    let own_model = session.phase(&named("verify"), None, |_| {
        let held = own_model::hold(job, shown)?;
        verify(job, shown, &certificates, session)?;
        Ok(held)
    })?;
    Ok(Lowered {
        module,
        open,
        annotated,
        findings,
        remarks,
        fusion,
        origins: integer.origins,
        nearness: integer.nearness,
        certificates,
        own_model,
    })
}

/// The annotated module that [`lowered`] lowers, with its parameters baked.
pub(super) fn annotated(job: &Job<'_>, session: &Session<'_>) -> Result<Module, Stop> {
    let spec = job.target.spec();
    let wishes = wishes(job, spec)?;
    let phase = format!("quantize ({})", spec.id);
    let Quantized { annotated, .. } = session.phase(&phase, None, |_| quantized(job, spec, &wishes, session))?;
    Ok(annotated)
}

/// The same with more rules, which name layers or tensors.
pub(super) fn annotated_with(job: &Job<'_>, rules: Vec<Rule>, session: &Session<'_>) -> Result<Module, Stop> {
    let (mut loaded, mut selection) = (job.loaded.clone(), job.selection.clone());
    for rule in rules {
        let known = &mut loaded.config.quantize.rule;
        selection.extend(job.canonical, &rule, known.len());
        known.push(rule);
    }
    let job = Job {
        loaded: &loaded,
        selection: &selection,
        ..job.clone()
    };
    annotated(&job, session)
}

/// The directives of the configuration, and the grids that are known: of the program, and of the record.
fn wishes(job: &Job<'_>, spec: &TargetSpec) -> Result<(Wishes, Vec<Given>), Stop> {
    let mut wishes = directives::wishes(job.canonical, job.loaded, job.selection, spec)?;
    if job.target.counts_outputs() {
        wishes.directives.weight_ties = job.outputs.ties(job.canonical);
    }
    let mut given = job.loaded.given.clone();
    if let Some(record) = job.record {
        given.extend(record::grids(job, record, &mut wishes)?);
    }
    Ok((wishes, given))
}

/// Holds the fused graph against the lowered one, by other means than those that made it, on the target's loops. What does
/// not hold is our defect, or that of the target's code ([`blame`]); nothing is written then.
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
        ranges: Some(job.ranges),
        loops: &loops,
        ..VerifyOptions::new(&threads)
    };
    let report = strait_verify::verify_module(module, certificates, &options).map_err(|error| match error {
        VerifyError::Execute { source, .. } => failure::execute(source),
        error => Stop::Defect(format!("the integer model cannot be verified: {error}")),
    })?;
    if report.is_sound() {
        return Ok(());
    }
    let spec = job.target.spec();
    Err(blame::stop(
        spec,
        module,
        certificates,
        &report.findings,
        job.ranges,
        &threads,
    ))
}

/// A module as it runs, whose main graph has these bodies open.
pub(crate) fn whole_of<'m>(bodies: &Bodies, module: &'m Module) -> Result<Cow<'m, Module>, Stop> {
    bodies.whole(module).map_err(|error| Stop::Defect(error.to_string()))
}

/// Holds a module against every invariant of its stage.
pub(super) fn whole(module: &Module, behind: &str) -> Result<(), Stop> {
    verifier::verify(module).map_err(|violation| Stop::Defect(format!("behind {behind}: {violation}")))
}

/// The annotated module, the lowered one, and what was done for it.
struct Quantized {
    annotated: Module,
    integer: strait_lower::Lowered,
    findings: Findings,
    /// Remarks on the grids that the model has.
    remarks: Vec<Diagnostic>,
}

/// A promise of an earlier step that does not hold.
fn defect(failure: Failure) -> Stop {
    Stop::Defect(failure.to_string())
}

/// Annotates and lowers. With `given = "requantize"` values whose grids of the model a node could not have are set free of
/// them, and all is annotated once more: each time more of them are free, so that this comes to an end.
fn quantized(
    job: &Job<'_>,
    spec: &TargetSpec,
    wishes: &(Wishes, Vec<Given>),
    session: &Session<'_>,
) -> Result<Quantized, Stop> {
    let requantizes = job.loaded.config.quantize.given == Some(GivenGrids::Requantize);
    let mut free = BTreeMap::new();
    loop {
        let (done, misfits) = attempt(job, spec, wishes, &free, session)?;
        let more: Vec<_> = misfits
            .into_iter()
            .filter(|(value, _)| !free.contains_key(value))
            .collect();
        if !requantizes || more.is_empty() {
            directives::keep(job.loaded, job.selection, spec, &done.annotated, &wishes.0.placing)?;
            if job.has_nothing_measured() {
                model_grids::without_samples(job.loaded, &done.annotated)?;
            }
            return Ok(done);
        }
        free.extend(more);
    }
}

/// Annotates and lowers, in as many turns as refusals ask for. Observers run once for each value. Answers besides with the
/// values of the model whose grids a node could not have.
fn attempt(
    job: &Job<'_>,
    spec: &TargetSpec,
    (wishes, given): &(Wishes, Vec<Given>),
    free: &Misfits,
    session: &Session<'_>,
) -> Result<(Quantized, Misfits), Stop> {
    let mut module = job.canonical.clone();
    let main = module.main;
    let mut types = wishes.types.clone();
    let mut directives = wishes.directives.clone();
    for given in given {
        let place = (given.node(&module)?, given.port);
        directives.given.insert(place, given.annotation(&mut module));
    }
    let grids = take_model_grids(&mut module, main).map_err(defect)?;
    let are_free = free.keys().copied().collect();
    grids
        .keep((&mut module, main), spec, &are_free, &mut types, &mut directives)
        .map_err(defect)?;
    widen(&module, main, spec, &wishes.placing, &directives, &mut types);
    let mut placed = place(&mut module, main, spec, &wishes.placing, &types);
    let refused = refused_by_code(&module, main, job.target.as_ref())
        .map_err(|error| Diagnostic::error(codes::TARGET, error.to_string()))?;
    refuse(module.main_mut(), spec, &wishes.placing, &types, &mut placed, refused);
    let how = Annotation {
        spec,
        observation: job.observation,
        observer: wishes.observer.clone(),
        weight_per: wishes.weight_per,
        weight_block: wishes.weight_block,
        types,
        alignments: wishes.alignments,
        directives,
        placing: &wishes.placing,
    };
    // What is on the host for the sake of a grid may come back.
    let is_final = grids.is_empty() || job.loaded.config.quantize.given != Some(GivenGrids::Requantize);
    let keep = |module: &Module| match is_final {
        true => directives::keep(job.loaded, job.selection, spec, module, &wishes.placing),
        false => Ok(()),
    };
    let weights = grids
        .iter()
        .filter_map(|(value, grid)| Some((module.main().data_of(value)?, grid.clone())));
    let mut lowering = Turns::with_scales(weights.collect());
    let (integer, progress) = turns(&mut module, placed, &how, |module, progress| {
        keep(module)?;
        annotate(module, main, &how, progress).map_err(|error| Stop::Defect(error.to_string()))?;
        keep(module)?;
        lowering.touch(progress.touched());
        match lowering.lower(module, spec) {
            Ok(integer) => Ok(Turn::Done(integer)),
            Err(LowerError::Nodes(nodes)) => Ok(Turn::Refused(nodes)),
            Err(LowerError::Ours(text)) => Err(Stop::Defect(text)),
        }
    })?;
    session.both(|| whole(&module, "annotate"), || whole(&integer.module, "lower"))?;
    let mut findings = progress.findings(&module, &how);
    findings.requantized = requantized(&module, &grids, free).map_err(defect)?;
    let misfits = progress.misfits().iter().filter(|(value, _)| grids.has(**value));
    let misfits: Misfits = misfits.map(|(&value, why)| (value, why.clone())).collect();
    let mut remarks = model_grids::remarks(&module, &grids, &misfits, free);
    remarks.extend(job.has_nothing_measured().then(model_grids::nothing_measured));
    let done = Quantized {
        annotated: module,
        integer,
        findings,
        remarks,
    };
    Ok((done, misfits))
}

/// Outcome of one turn of annotating and lowering.
enum Turn<T> {
    Done(T),
    /// These nodes cannot be lowered.
    Refused(Vec<Refusal>),
}

/// Repeats a turn until it refuses nothing. What it refuses gets a coarser grid, or moves to the host and stays there, all
/// of it at once. Grids become coarser only so often, so that the turns come to an end. Answers with what was
/// done, and with what is kept of the turns.
fn turns<T>(
    module: &mut Module,
    mut progress: Progress,
    how: &Annotation<'_>,
    mut turn: impl FnMut(&mut Module, &mut Progress) -> Result<Turn<T>, Stop>,
) -> Result<(T, Progress), Stop> {
    loop {
        match turn(module, &mut progress)? {
            Turn::Done(done) => return Ok((done, progress)),
            Turn::Refused(nodes) => {
                if !refuse(
                    module.main_mut(),
                    how.spec,
                    how.placing,
                    &how.types,
                    &mut progress,
                    nodes,
                ) {
                    return Err(Stop::Defect("a node on the host was refused".to_owned()));
                }
            }
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
    let fusion = fuse(&mut module, main, job.target.as_ref(), policy)
        .map_err(|error| Stop::Defect(format!("fusing for `{}`: {error}", job.target.spec().id)))?;
    Ok((module, fusion))
}

/// The module as it is deployed, with the bodies of control flow as graphs of their own again; and that with the bodies open,
/// where there are some.
fn closed(job: &Job<'_>, mut module: Module) -> Result<(Module, Option<Module>), Stop> {
    if job.bodies.is_empty() {
        return Ok((module, None));
    }
    // The lowered graph is the first.
    let roots = [GraphId::new(0), module.main];
    let taken = job.bodies.take_out(&mut module, &roots);
    taken.map_err(|error| Stop::Defect(error.to_string()))?;
    let mut open = module.clone();
    strait_verify::lay_open(&mut open);
    Ok((module, Some(open)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::{Placement, Reason, ReasonCode, text::parse};
    use strait_quantize::annotate::Placing;
    use strait_quantize::statistics::Observation;
    use strait_target::{Options, Table};

    /// `count` convolutions of one weight in a row.
    fn row(count: usize) -> Module {
        let attributes = "{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}";
        let line = |n: usize| format!("  %v{}: f32[1,1,2,2] = conv(%v{n}, @w) {attributes}\n", n + 1);
        let lines: String = (0..count).map(line).collect();
        let text = format!(
            "strait 1 float\ngraph @main(%v0: f32[1,1,2,2]) {{\n{lines}  return %v{count}\n}}\n\
             data @w: f32[1,1,1,1] = splat 1.0\n"
        );
        parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn spec() -> TargetSpec {
        let text = include_str!("../../../../configs/targets/acme-npu2.toml");
        let table = Table::parse("acme-npu2.toml", text).expect("a table");
        table.spec(&Options::new()).expect("a sound table")
    }

    #[test]
    fn refusals_end_by_themselves_however_many_turns_they_take() {
        let (mut module, spec) = (row(200), spec());
        let (observation, placing) = (Observation::default(), Placing::new());
        let how = Annotation::new(&spec, &observation, &placing);
        let mut count = 0;
        let done = turns(&mut module, Progress::default(), &how, |module, _| {
            count += 1;
            // Each turn finds one more: what it depends on has only just moved.
            let first = module.main().nodes().find(|(_, n)| n.place == Placement::Accelerator);
            let why = || Reason::new(ReasonCode::NoForm, "another one");
            Ok(first.map_or(Turn::Done(module.main().node_bound()), |(id, _)| {
                Turn::Refused(vec![(id, why()).into()])
            }))
        });
        assert_eq!((done.ok().map(|(done, _)| done), count), (Some(200), 201));
    }

    #[test]
    fn a_refusal_that_moves_nothing_is_a_defect() {
        let (mut module, spec) = (row(2), spec());
        let (observation, placing) = (Observation::default(), Placing::new());
        let how = Annotation::new(&spec, &observation, &placing);
        let id = module.main().nodes().next().expect("a node").0;
        let stop = turns(&mut module, Progress::default(), &how, |_, _| {
            let why = Reason::new(ReasonCode::NoForm, "again and again");
            Ok(Turn::<()>::Refused(vec![(id, why).into()]))
        });
        assert!(matches!(stop, Err(Stop::Defect(_))));
    }
}
