//! Compiles a configuration to artifacts.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use strait_artifact::{CommonParts, DEPLOYMENT_SCHEMA, DeployedInput, Deployment, write};
use strait_compile::{Shares, TargetLoops};
use strait_container::{ArtifactWriter, Digest, Sources, sha256};
use strait_core::{Elem, Module, Reason, ReasonCode, Rewritten};
use strait_evaluate::{Accuracy, Metric, Note, Output};
use strait_execute::PlanOptions;
use strait_quantize::Observation;
use strait_samples::{InputSpec, Samples};
use strait_target::{Origin, Registry, Target, spec::Format};
use strait_verify::Ranges;

use crate::{
    config::{
        KeyPath, Loaded,
        types::{Data, Evaluation, MetricTable, Preprocess},
    },
    diagnostic::Diagnostic,
    dialect::expanded,
    evaluation::{Judge, Side, Subject, classes, doubts, grid, make_judges, notes, unexpected, whole_of},
    failure::{self, codes},
    report::{self, DataReport, Report},
    sanity::{self, Reference},
    session::Session,
    stop::Stop,
    table, targets,
};

use super::{
    cache,
    denied::left_in_float,
    effects::effects,
    emit, gates, given, inputs,
    lowered::{self, Lowered, annotate_with, lower},
    nan, observe,
    read::reading,
    ready::{Ready, make_ready},
};
use crate::pipeline::job::Job;

/// An artifact that a compilation has written.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Id of the target that it was compiled for.
    pub target: String,
    /// Folder of the artifact.
    pub folder: PathBuf,
    /// The digest that identifies the artifact.
    pub digest: Digest,
    /// The report of the compilation. Its gates may have failed.
    pub report: Report,
}

/// Compiles for every target of the configuration, using the same statistics for all.
///
/// The targets are those of `registry` and those in the configuration's own files. Targets, formats and output folders
/// are checked first, then the samples, so that errors are reported before the work begins. Each artifact is moved to
/// its place when it is complete. If compiling for a later target fails, the artifacts that are complete stay there.
///
/// # Errors
/// If anything is wrong with the configuration, the model, the samples or a target, or if the user interrupts.
pub fn compile(loaded: &Loaded, registry: Registry, session: &Session<'_>) -> Result<Vec<Compiled>, Stop> {
    let loaded = &*expanded(loaded, &registry)?;
    let config = &loaded.config;
    let mut jobs = Vec::new();
    for (target, origin) in targets::chosen(loaded, registry, session)? {
        let formats = emit::formats(loaded, target.spec())?;
        let folder = config.output.dir.of_target(&target.spec().id);
        let writer = ArtifactWriter::create(&folder).map_err(|error| {
            let path = KeyPath::of(&["output", "dir"]);
            loaded.error(codes::ARTIFACT, &path, error.to_string(), "")
        })?;
        jobs.push((target, origin, formats, folder, writer));
    }
    let ready = make_ready(loaded, session)?;
    for (target, ..) in &jobs {
        let selection = ready.selection.of_target(&ready.rules.quantize, &target.spec().id);
        cache::check(loaded, &target.spec().id, &ready.canonical, ready.samples.count() > 0)?;
        lowered::foresee(loaded, &ready, (target.spec(), &selection), session)?;
    }
    let before = before_targets(loaded, &ready, session)?;
    let compile = |(target, origin, formats, folder, writer): Chosen| {
        let id = target.spec().id.to_string();
        let (digest, report) = for_target(loaded, &before, (target, origin, formats), writer, session)?;
        Ok(Compiled {
            target: id,
            folder,
            digest,
            report,
        })
    };
    jobs.into_iter().map(compile).collect()
}

/// A target, where it comes from, the formats that are written for it, and its output folder.
type Chosen = (Arc<dyn Target>, Origin, Vec<Format>, PathBuf, ArtifactWriter);

/// Everything that is prepared once and then used for all targets.
struct Before<'a> {
    ready: &'a Ready,
    evaluation: Option<Prepared>,
    observation: Observation,
    ranges: Ranges,
    /// The float model ready to run, if a metric compares with it.
    float: Option<Side>,
    /// The float model's outputs for the first samples.
    reference: Option<Reference<'a>>,
    /// The notes that metrics took of the float model.
    float_notes: Option<Vec<Vec<Note>>>,
    /// Remarks on the model and the samples. The user has already seen them.
    remarks: Vec<Diagnostic>,
    sources: Sources,
    data: BTreeMap<String, DataReport>,
}

/// Observes the float model, runs it for the metrics, and collects the facts about the model and the samples that the
/// reports and manifests of all targets contain.
fn before_targets<'a>(loaded: &Loaded, ready: &'a Ready, session: &Session<'_>) -> Result<Before<'a>, Stop> {
    let config = &loaded.config;
    let (canonical, bodies, samples) = (&ready.canonical, &ready.bodies, &ready.samples);
    let whole = || whole_of(bodies, canonical);
    let evaluation = (config.evaluation.as_ref())
        .map(|evaluation| prepare(loaded, evaluation, &ready.specs, whole()?.as_ref(), session))
        .transpose()?;
    // The digest of the samples is computed here. It is an error if a sample changes after this point.
    let of_evaluation = evaluation.as_ref().map(|evaluation| &evaluation.samples);
    let evaluated =
        of_evaluation.map(|samples| session.phase("digest", None, |_| Ok(samples.digest().map_err(failure::data)?)));
    let evaluated = evaluated.transpose()?;
    let observation = ready.statistics(canonical, &ready.requests, loaded, session)?;
    let constant = observe::constant_inputs(canonical, bodies, &observation);
    let constant = inputs::at(loaded, &["calibration", "data"], constant);
    constant.0.iter().for_each(|finding| session.remark(finding));
    let not_numbers = nan::found(loaded, canonical, &observation)?;
    let is_run = evaluation.is_some() || samples.count() > 0;
    let float = is_run.then(|| {
        let side = Side::new(whole()?.as_ref(), &session.means().options, session)?;
        let reference = Reference::new(&side, canonical, samples, session)?;
        let notes = evaluation
            .as_ref()
            .map(|evaluation| float_notes(evaluation, &side, loaded, session));
        // The float model is kept only if a metric compares the integer model with it. The float model then runs again
        // beside each target's integer model.
        let compares = |evaluation: &Prepared| (evaluation.judges.iter()).any(|judge| judge.measure.meter.compares());
        let side = Some(side).filter(|_| evaluation.as_ref().is_some_and(compares));
        Ok::<_, Stop>((side, reference, notes.transpose()?))
    });
    let (float, reference, float_notes) = float.transpose()?.unwrap_or_default();
    let is_random = config.calibration.data.as_ref().is_some_and(Data::is_random);
    let about_data: Vec<Diagnostic> = (is_random
        .then(|| Diagnostic::warning(codes::RANDOM, RANDOM))
        .into_iter())
    .chain(left_out("calibration", samples))
    .chain(of_evaluation.and_then(|samples| left_out("evaluation", samples)))
    .chain(not_numbers.0)
    .collect();
    about_data.iter().for_each(|warning| session.remark(warning));
    let mut sources = Sources {
        config: sha256(b""),
        data: BTreeMap::from([("calibration".to_owned(), ready.calibration)]),
        model: ready.model.digest(),
        not_for_deployment: is_random.then(|| RANDOM.to_owned()),
        readers: BTreeMap::new(),
    };
    let switched = ready.switches.1.map(|digest| ("switches".to_owned(), digest));
    sources.data.extend(switched);
    sources
        .data
        .extend(evaluated.map(|digest| ("evaluation".to_owned(), Digest(digest))));
    let mut data = BTreeMap::new();
    let read = of_evaluation.map(|samples| ("evaluation", samples));
    for (role, samples) in [("calibration", samples)].into_iter().chain(read) {
        if let Some(read) = images(samples) {
            sources.readers.insert(role.to_owned(), read.reader());
            data.insert(role.to_owned(), read);
        }
    }
    Ok(Before {
        ranges: inputs::ranges(&ready.specs, samples),
        remarks: ready.remarks.iter().cloned().chain(about_data).collect(),
        ready,
        evaluation,
        observation,
        float,
        reference,
        float_notes,
        sources,
        data,
    })
}

/// Compiles for one target, evaluates the result and writes it.
fn for_target(
    loaded: &Loaded,
    before: &Before<'_>,
    (target, origin, formats): (Arc<dyn Target>, Origin, Vec<Format>),
    writer: ArtifactWriter,
    session: &Session<'_>,
) -> Result<(Digest, Report), Stop> {
    let ready = before.ready;
    let (of_target, selection) = ready.of_target(&before.observation, target.spec(), loaded, session)?;
    let job = Job {
        loaded,
        ready,
        canonical: &of_target.module,
        rules: &ready.rules,
        selection: &selection,
        observation: &of_target.observation,
        target: target.clone(),
        origin,
        formats,
        ranges: &before.ranges,
    };
    let lowered = lower(&job, session)?;
    let mut remarks = Remarks::new(&before.remarks, session);
    remarks.tell(lowered.remarks.iter().cloned());
    remarks.tell(emit::float_biases(&job, &lowered));
    remarks.tell(unheld(&job, lowered.built.own_model));
    remarks.tell(emit::left_out(&job));
    remarks.tell(left_in_float(&lowered.built.annotated, target.spec()));
    let (saturated, on_grids) = emit::saturated(&job, &lowered)?;
    remarks.tell(saturated);
    let rewritten = both(&both(&ready.rewritten, of_target.rewritten), on_grids);
    let mut report = report_of(&job, &lowered, &rewritten);
    report.data.clone_from(&before.data);
    report.not_for_deployment.clone_from(&before.sources.not_for_deployment);
    let loops = TargetLoops(target.clone());
    let integer = before.reference.as_ref().map(|reference| {
        let integer = integer_side(&lowered, &loops, session)?;
        let subject = sanity::Subject {
            canonical: job.canonical,
            bodies: &ready.bodies,
            annotated: &lowered.built.annotated,
            spec: target.spec(),
            integer: &lowered.built.module,
            loops: &loops,
            with: &|rules| annotate_with(&job, rules, session),
        };
        report.sanity = reference.hold(&integer, &subject, session)?;
        report.lints = reference.heard(std::mem::take(&mut report.lints), &subject, session)?;
        Ok::<_, Stop>(integer)
    });
    let integer = integer.transpose()?;
    if let (Some(evaluation), Some(notes), Some(integer)) = (&before.evaluation, &before.float_notes, &integer) {
        let float = (before.float.as_ref(), notes.as_slice());
        report.accuracy = Some(accuracy(evaluation, float, &job, integer, session)?);
    }
    // What is made here stays in memory until it is written, so it is made only after all runs.
    let (mut made, one_sample) = emit::free_batches(&job, &lowered)?;
    remarks.tell(one_sample);
    if let Some((remark, operators)) = emit::on_accelerator(&job, &lowered, &mut made)? {
        remarks.tell([remark]);
        report.file_operators = Some(operators);
    }
    remarks.tell(skipped(&rewritten));
    remarks.tell(sanity::warning(&report.sanity));
    report.remarks = remarks.told.iter().map(Into::into).collect();
    report.gates = gates::gates(&loaded.config.gate, &report, lowered.built.open());
    let id = target.spec().id.as_str();
    let mut sources = Sources {
        config: settings_digest(loaded, id)?,
        ..before.sources.clone()
    };
    let caches = cache::digest(loaded, id)?.map(|digest| (cache::SOURCE.to_owned(), digest));
    sources.data.extend(caches);
    let deployment = deployment(&job);
    let parts = CommonParts {
        built: &lowered.built,
        report: &report,
        deployment: &deployment,
    };
    let (digest, left_out) = session.phase(&format!("write ({id})"), None, |_| {
        ready.model.unchanged().map_err(failure::model_changed)?;
        let others = |writer: &ArtifactWriter| emit::emit(&job, &lowered, (&rewritten, made), writer);
        write(
            &parts,
            (target.spec(), &job.origin),
            sources,
            writer,
            session.threads,
            others,
        )
    })?;
    left_out.iter().for_each(|remark| session.remark(remark));
    Ok((digest, report))
}

/// Everything besides the integer model that is needed to run the model on stored samples.
fn deployment(job: &Job<'_>) -> Deployment<Preprocess> {
    let (config, spec) = (&job.loaded.config, job.target.spec());
    let input = |input: inputs::Input| DeployedInput {
        preprocess: inputs::preprocessing(job.loaded, &input.name).clone(),
        range: job.ranges.0.get(&input.name).copied(),
        name: input.name,
    };
    let given = config.target.plain(&spec.id, |name| spec.options.contains_key(name));
    // An option may have another value than its default because a format of the configuration needs this value.
    let mut options = given.unwrap_or_default();
    for (name, row) in &spec.options {
        if let Some(value) = spec.chosen.get(name).filter(|value| **value != row.default) {
            options.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    Deployment {
        schema: DEPLOYMENT_SCHEMA,
        reading: reading(&config.model),
        inputs: inputs::inputs(job.canonical, &job.ready.bodies)
            .into_iter()
            .map(input)
            .collect(),
        options,
    }
}

/// Collects remarks, and shows each to the user as soon as it is added.
struct Remarks<'a> {
    told: Vec<Diagnostic>,
    session: &'a Session<'a>,
}

impl<'a> Remarks<'a> {
    /// Starts with the remarks `told`, which have already been shown.
    fn new(told: &[Diagnostic], session: &'a Session<'a>) -> Remarks<'a> {
        Remarks {
            told: told.to_vec(),
            session,
        }
    }

    fn tell(&mut self, remarks: impl IntoIterator<Item = Diagnostic>) {
        let told = remarks.into_iter().inspect(|remark| self.session.remark(remark));
        self.told.extend(told);
    }
}

/// The remark on an artifact whose ranges come from random numbers.
const RANDOM: &str = "not for deployment: its ranges were measured on random numbers";

/// A remark names at most this many images.
const NAMED: usize = 3;

/// The warning that images were left out.
fn left_out(role: &str, samples: &Samples) -> Option<Diagnostic> {
    let names = samples.left_out();
    let named = names
        .iter()
        .take(NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "[{role}] goes without {} that cannot be decoded: {named}{more}",
        table::count(names.len(), "image")
    );
    (!names.is_empty()).then(|| Diagnostic::warning(codes::LEFT_OUT, message))
}

/// Returns a warning if the target's own model of its arithmetic covers no layer of the compiled model. In that case,
/// nothing was compared with the target's own model.
fn unheld(job: &Job<'_>, held: Option<Shares>) -> Option<Diagnostic> {
    let held = held.filter(|held| held.own == 0)?;
    let message = format!(
        "the model of its arithmetic that the target `{}` brings with it computes none of the {}: nothing was held against it",
        job.target.spec().id,
        table::count(held.host, "layer")
    );
    let help = "`requantize` of its plugin answers STRAIT_UNSUPPORTED to all of their forms";
    Some(Diagnostic::warning(codes::TARGET, message).help(help))
}

/// Joins the results of two runs of the rewriter: with the rules for all targets, and with the rules for one target. A
/// rule that was refused at a node in both runs is listed only once.
fn both(canonical: &Rewritten, of_target: Rewritten) -> Rewritten {
    let mut steps = canonical.clone();
    let again =
        |(rule, node, _): &(&str, String, _)| of_target.refused.iter().any(|new| (new.0, &new.1) == (*rule, node));
    steps.refused.retain(|refused| !again(refused));
    steps.extend(of_target);
    steps
}

/// Returns a warning for each layer at which a rule was skipped because it would have computed a number that is not
/// finite.
fn skipped(rewritten: &Rewritten) -> Vec<Diagnostic> {
    let refused = rewritten
        .refused
        .iter()
        .filter(|(_, _, reason)| reason.code == ReasonCode::NotFinite);
    let warning = |(rule, layer, reason): &(&str, String, Reason)| {
        let message = format!("the rule `{rule}` is skipped at layer `{layer}`: {}", reason.text);
        Diagnostic::warning(codes::MODEL, message)
    };
    refused.map(warning).collect()
}

/// The samples for the evaluation, and the prepared metrics.
struct Prepared {
    samples: Samples,
    metrics: Vec<(KeyPath, MetricTable)>,
    judges: Vec<Judge>,
}

fn prepare(
    loaded: &Loaded,
    evaluation: &Evaluation,
    specs: &[InputSpec],
    float: &Module,
    session: &Session<'_>,
) -> Result<Prepared, Stop> {
    let data = (&evaluation.data, evaluation.unreadable);
    let samples = inputs::open_samples(loaded, "evaluation", data, evaluation.samples, specs)?;
    let metrics = evaluation.chosen_metrics();
    let subject = Subject {
        outputs: &outputs(float),
        float: Some(float),
        inputs: specs,
        samples: &samples,
        folder: &loaded.folder,
        labels: evaluation.labels.as_ref().map(AsRef::as_ref),
    };
    let judges = make_judges(&metrics, &subject).map_err(|stop| inputs::placed(loaded, stop))?;
    // Whether commands may be run is checked before any work begins.
    for command in judges.iter().filter_map(|judge| judge.command.as_ref()) {
        command.allowed(session).map_err(|stop| inputs::placed(loaded, stop))?;
    }
    Ok(Prepared {
        samples,
        metrics,
        judges,
    })
}

/// The outputs of the main graph.
fn outputs(module: &Module) -> Vec<Output> {
    let graph = module.main();
    let output = |&id| {
        let value = graph.value(id)?;
        let extents = value.ty.shape.iter().map(|extent| extent.fixed().unwrap_or(0) as usize);
        Some(Output {
            name: module.name(value.name).to_owned(),
            elem: grid(value).map_or(value.ty.elem, |_| Elem::F32),
            shape: extents.collect(),
        })
    };
    graph.outputs().iter().filter_map(output).collect()
}

/// Returns the notes that metrics take of the float model. If the configuration states an expected accuracy, the
/// measured accuracy is compared with it. If the measured accuracy is implausible, the user gets a warning.
fn float_notes(
    evaluation: &Prepared,
    float: &Side,
    loaded: &Loaded,
    session: &Session<'_>,
) -> Result<Vec<Vec<Note>>, Stop> {
    let notes = notes(
        float,
        [None; 2],
        &evaluation.judges,
        &evaluation.samples,
        session,
        "evaluate (float)",
    )
    .map_err(|stop| inputs::placed(loaded, stop))?;
    let expected = (loaded.config.evaluation.as_ref()).and_then(|evaluation| evaluation.expect_float);
    let outputs = float.outputs();
    for (Judge { measure, .. }, notes) in evaluation.judges.iter().zip(&notes) {
        let table = evaluation.metrics.iter().find(|(_, table)| table.name == measure.name);
        let known = table.and_then(|(place, table)| Some((place, table.expect_float?)));
        if known.is_none() && measure.name != Metric::Top1.name() {
            continue;
        }
        let measured = measure.alone(evaluation.samples.count(), notes);
        if let Some((place, finding)) = known.and_then(|(place, known)| Some((place, unexpected(&measured, known)?))) {
            let place = place.clone().key("expect_float");
            return Err(inputs::placed(loaded, finding.about(place).into()));
        }
        if measure.name == Metric::Top1.name()
            && let Some(figure) = measured.integer
        {
            let classes = classes(&measured, table.map(|(_, table)| table), &outputs);
            let doubts = doubts(&measured, figure, classes, expected);
            let doubts = inputs::at(loaded, &["evaluation", "labels"], doubts);
            doubts.0.iter().for_each(|doubt| session.remark(doubt));
        }
    }
    Ok(notes)
}

/// The integer model, ready to run.
fn integer_side(lowered: &Lowered, loops: &TargetLoops, session: &Session<'_>) -> Result<Side, Stop> {
    let options = PlanOptions {
        loops,
        ..session.means().options
    };
    Side::new(&lowered.built.module, &options, session)
}

fn accuracy(
    evaluation: &Prepared,
    (float, float_notes): (Option<&Side>, &[Vec<Note>]),
    job: &Job<'_>,
    integer: &Side,
    session: &Session<'_>,
) -> Result<Accuracy, Stop> {
    let phase = format!("evaluate ({})", job.target.spec().id);
    let (judges, samples) = (&evaluation.judges, &evaluation.samples);
    let integer = notes(integer, [float, None], judges, samples, session, &phase);
    let integer = integer.map_err(|stop| inputs::placed(job.loaded, stop))?;
    Ok(Accuracy::new(
        judges.iter().map(|judge| &judge.measure),
        samples.count(),
        &integer,
        Some(float_notes),
        None,
    ))
}

/// The part of the report on how images were read. `None` if the samples are not images.
fn images(samples: &Samples) -> Option<DataReport> {
    let reading = samples.reading()?;
    Some(DataReport {
        samples: samples.count(),
        decoder: reading.decoder,
        arithmetic: reading.arithmetic,
        left_out: samples.left_out().to_vec(),
    })
}

fn report_of(job: &Job<'_>, lowered: &Lowered, rewritten: &Rewritten) -> Report {
    let (spec, rewrites) = (job.target.spec(), rewritten.counts());
    let mut report = report::of_built(spec, job.canonical, &lowered.built, &rewrites);
    (report.rules, report.quantize) = effects(job, &lowered.built.annotated);
    report
}

/// Computes the digest of all settings that affect a target's artifact. These are all keys except those for paths, and
/// also the scales and zero points that a calling program sets.
pub(super) fn settings_digest(loaded: &Loaded, target: &str) -> Result<Digest, Stop> {
    let mut settings = loaded.settings_for(target);
    if let (false, Some(keys)) = (loaded.given.is_empty(), settings.as_object_mut()) {
        keys.insert("given".into(), loaded.given.iter().map(given::settings).collect());
    }
    let settings = serde_json::to_vec(&settings).map_err(|error| Stop::Defect(error.to_string()))?;
    Ok(sha256(&settings))
}
