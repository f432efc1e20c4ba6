//! Compiles a configuration to artifacts.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use strait_artifact::{CommonParts, DEPLOYMENT_SCHEMA, DeployedInput, Deployment, DeviceForm, write};
use strait_compile::{Shares, TargetLoops};
use strait_container::{ArtifactWriter, Digest, Sources};
use strait_core::{Reason, ReasonCode, Rewritten};
use strait_evaluate::Accuracy;
use strait_execute::free_aside;
use strait_target::{Origin, Registry, Target, TargetSpec, spec::Format};

use crate::{
    analysis::{Analysed, groups, worst},
    config::{
        KeyPath, Loaded,
        types::{Preprocess, ReportForm},
    },
    diagnostic::Diagnostic,
    dialect::expanded,
    evaluation::TAIL_FILE,
    failure::{self, codes},
    report::{self, CostlyLayer, Report, TailReport},
    sanity,
    session::Session,
    stop::Stop,
    table, targets,
};

use super::{
    Adapter,
    accuracy::{accuracy, verified_side},
    before::{Before, before_targets},
    bytes, cache,
    denied::left_in_float,
    effects::effects,
    emit, gates, inputs,
    lowered::{self, Lowered, annotate_with, lower},
    mixed,
    read::reading,
    ready::make_ready,
    settings::settings_digest,
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
/// If several processes share the work, each of them writes all artifacts. In the end they make sure that all have the same
/// digests.
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
    let specs: Vec<&TargetSpec> = jobs.iter().map(|(target, ..)| target.spec()).collect();
    let mut before = before_targets(loaded, &ready, &specs, session)?;
    let compile = |(target, origin, formats, folder, writer): Chosen| {
        let id = target.spec().id.to_string();
        let (digest, report) = for_target(loaded, &before, (target, origin, formats), writer, session)?;
        Ok::<_, Stop>(Compiled {
            target: id,
            folder,
            digest,
            report,
        })
    };
    let compiled: Result<Vec<Compiled>, Stop> = jobs.into_iter().map(compile).collect();
    let compiled = before.kept(compiled, session)?;
    free_aside(session.threads, (before.into_observed(), ready));
    let artifact = |one: &Compiled| (format!("artifact for {}", one.target), one.digest);
    session.agree("artifacts", &compiled.iter().map(artifact).collect::<Vec<_>>())?;
    Ok(compiled)
}

/// A target, where it comes from, the formats that are written for it, and its output folder.
type Chosen = (Arc<dyn Target>, Origin, Vec<Format>, PathBuf, ArtifactWriter);

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
    let parts = (&*of_target.module, &*of_target.observation, &selection);
    let own = (target.clone(), origin);
    let job = Job {
        formats,
        ..Job::new(loaded, ready, parts, own, &before.ranges)
    };
    let mixed = mixed::search(&job, session)?;
    let job = mixed.as_ref().map_or(job.clone(), |mixed| mixed.job(&job));
    // Whether the Q/DQ file can be written depends on the float model alone, and what the network sees on the samples. Both
    // are found while the model is annotated, which one thread does.
    let ((left_out, seen), mut lowered) = strait_execute::both(
        session.threads,
        || Ok::<_, Stop>((emit::left_out(&job), before.seen(loaded)?)),
        || lower(&job, false, session),
    )?;
    let mut remarks = Remarks::new(&before.remarks, session);
    remarks.tell(lowered.remarks.iter().cloned());
    remarks.tell(emit::float_biases(&job, &lowered));
    remarks.tell(unheld(&job, lowered.built.own_model));
    let has_no_qdq = left_out.is_some();
    remarks.tell(left_out);
    remarks.tell(bytes::left(&ready.canonical, &ready.rewritten));
    remarks.tell(left_in_float(&lowered.built.annotated, target.spec()));
    let (saturated, on_grids) = emit::saturated(&job, &lowered)?;
    remarks.tell(saturated);
    let rewritten = both(&both(&ready.rewritten, of_target.rewritten), on_grids);
    let loops = TargetLoops(target.clone());
    let wanted = before.reference.as_ref();
    let integer = wanted.map(|_| verified_side(&mut lowered, ready.tail.as_ref(), &loops, session));
    let integer = integer.transpose()?;
    free_aside(session.threads, lowered.plan.take());
    let mut report = report_of(&job, &lowered, &rewritten, session)?;
    // Only the report is made from these, and they would be in memory until everything is written.
    let of_report = (
        std::mem::take(&mut lowered.built.origins),
        std::mem::take(&mut lowered.built.nearness),
    );
    free_aside(session.threads, of_report);
    report.mixed_precision = mixed.iter().flat_map(|mixed| mixed.report.clone()).collect();
    report.data.clone_from(&before.data);
    report.tail = ready.tail.as_ref().map(|tail| {
        let ([inputs, outputs], operations) = tail.facts();
        TailReport {
            file: TAIL_FILE.to_owned(),
            inputs,
            outputs,
            operations,
        }
    });
    report.not_for_deployment.clone_from(&before.sources.not_for_deployment);
    if let (Some(reference), Some(integer)) = (&before.reference, &integer) {
        let subject = sanity::Subject {
            canonical: lowered.built.float(job.canonical),
            bodies: &ready.bodies,
            annotated: &lowered.built.annotated,
            spec: target.spec(),
            integer: &lowered.built.module,
            loops: &loops,
            with: &|rules| annotate_with(&job, rules, session),
        };
        report.sanity = reference.hold(integer, &subject, session)?;
        report.lints = reference.heard(std::mem::take(&mut report.lints), &subject, session)?;
    }
    if let (Some(evaluation), Some(notes), Some(integer)) = (&before.evaluation, &before.float_notes, &integer) {
        let float = (before.float.as_ref(), notes.as_slice());
        let (measured, changed) = accuracy(evaluation, float, &job, integer, session)?;
        (report.accuracy, report.changed) = (Some(measured), changed);
        report.costly = costly(&job, &lowered, report.accuracy.as_ref(), session)?;
    }
    // What is made here stays in memory until it is written, so it is made only after all runs, when the plan of the
    // integer model is not needed any more.
    free_aside(session.threads, integer);
    let (mut made, one_sample) = emit::free_batches(&job, &lowered, has_no_qdq)?;
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
    let searched = mixed.iter().filter_map(|mixed| mixed.samples);
    sources
        .data
        .extend(searched.map(|digest| ("optimize".to_owned(), digest)));
    report.sources = sources_of(&sources);
    report.settings = Some(loaded.settings_for(id));
    if !loaded.config.output.redact {
        report.set.clone_from(&loaded.set);
    }
    report.seen = seen.to_vec();
    let page = page(loaded, &report)?;
    let deployment = deployment(&job);
    let parts = CommonParts {
        built: &lowered.built,
        report: &report,
        deployment: &deployment,
    };
    let (digest, left_out) = session.phase(&format!("write ({id})"), None, |_| {
        let others = |writer: &ArtifactWriter| {
            ready.model.unchanged().map_err(failure::model_changed)?;
            if let Some(page) = &page {
                writer.add_bytes(strait_page::PAGE_FILE, page.as_bytes())?;
            }
            emit::tail(&job, writer)?;
            emit::emit(&job, &lowered, (&rewritten, made), writer)
        };
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
    drop(job);
    free_aside(session.threads, lowered);
    Ok((digest, report))
}

/// The digests of what the artifact is made from, as the report has them.
fn sources_of(sources: &Sources) -> BTreeMap<String, String> {
    let own = [("model", &sources.model), ("config", &sources.config)].map(|(what, digest)| (what.to_owned(), digest));
    let data = sources.data.iter().map(|(what, digest)| (what.clone(), digest));
    own.into_iter()
        .chain(data)
        .map(|(what, digest)| (what, digest.to_string()))
        .collect()
}

/// The page for people, if the configuration asks for it.
fn page(loaded: &Loaded, report: &Report) -> Result<Option<String>, Stop> {
    let output = &loaded.config.output;
    let asked = output.report.contains(&ReportForm::Html);
    let made = asked.then(|| strait_page::page(report, None, output.redact));
    made.transpose().map_err(|error| Stop::Defect(error.to_string()))
}

/// Everything besides the integer model that is needed to run the model on stored samples.
fn deployment(job: &Job<'_>) -> Deployment<Preprocess> {
    let (config, spec) = (&job.loaded.config, job.target.spec());
    let input = |input: inputs::Input| DeployedInput {
        preprocess: inputs::preprocessing(job.loaded, &input.name),
        layout: config.form_of(&input.name).layout,
        color: config
            .form_of(&input.name)
            .color
            .map(|color| color.letters().to_owned()),
        device: config.device_of(&input.name).map(|device| DeviceForm {
            elem: device.ty.name().to_owned(),
            layout: device.layout.as_ref().map(|layout| layout.as_str().to_owned()),
            color: device.color.map(|color| color.letters().to_owned()),
            scale: device.scale,
            zero_point: device.zero_point,
        }),
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
        reading: reading(config),
        inputs: inputs::inputs(job.canonical, &job.ready.bodies)
            .into_iter()
            .map(input)
            .collect(),
        options,
        tail: job.ready.tail.as_ref().map(|_| TAIL_FILE.to_owned()),
    }
}

/// If a metric loses more points than this, the layers that cost most are measured.
const MUCH: f64 = 1.0;

/// The costly layers are measured on this many calibration samples.
const FEW: usize = 2;

/// A report names this many of the costly layers.
const NAMED: usize = 3;

/// If a metric falls by more than a point, finds the layers whose quantization alone does most harm. An analysis that
/// needs more than is allowed is left out, because the compilation itself succeeded.
fn costly(
    job: &Job<'_>,
    lowered: &Lowered,
    accuracy: Option<&Accuracy>,
    session: &Session<'_>,
) -> Result<Vec<CostlyLayer>, Stop> {
    let mut losses = accuracy.into_iter().flat_map(|accuracy| &accuracy.metrics);
    // Metrics that compare with the float model have no figure for the float model, and say little about accuracy.
    let falls = losses.any(|metric| metric.float.is_some() && metric.loss(None).is_some_and(|loss| loss > MUCH));
    if !falls || job.ready.samples.count() == 0 {
        return Ok(Vec::new());
    }
    match worst(
        &lowered.built,
        &Adapter::alone(&job.ready.samples),
        (FEW, NAMED),
        lowered.built.float(job.canonical),
        (session, job.id()),
    ) {
        Err(Stop::Found(_)) => Ok(Vec::new()),
        found => found,
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

fn report_of(job: &Job<'_>, lowered: &Lowered, rewritten: &Rewritten, session: &Session<'_>) -> Result<Report, Stop> {
    let (spec, rewrites) = (job.target.spec(), rewritten.counts());
    let of_layers = || Ok::<_, Stop>(report::of_built(spec, job.canonical, &lowered.built, &rewrites));
    let of_tensors = || {
        let analysed = Analysed {
            canonical: lowered.built.float(job.canonical),
            built: &lowered.built,
            observation: job.observation,
            spec,
            lints: &[],
        };
        let groups = groups(&lowered.built.annotated);
        let weights = match job.loaded.config.output.redact {
            true => Vec::new(),
            false => analysed.channels_of_weights(&groups, session.threads)?,
        };
        let effects = effects(job, &lowered.built.annotated);
        Ok((effects, analysed.distributions(&groups), weights))
    };
    let (report, ((rules, quantize), distributions, weights)) =
        strait_execute::both(session.threads, of_layers, of_tensors)?;
    Ok(Report {
        rules,
        quantize,
        distributions,
        weights,
        ..report
    })
}
