//! Verifies an artifact: its files against the manifest, its report and its certificates against its graphs, and the
//! fused graph against the lowered one on samples.

mod agreement;
mod inside;
mod report;

use std::path::Path;

use inside::Inside;

use strait_container::{Artifact, ArtifactError, Integrity, MODEL_FILE, TargetOrigin};
use strait_execute::{
    ExecuteError, LoopsFor, PlanOptions, SampleError, Standard, StepError, Tensor, TensorView, Threads, Workspace,
    map_in_order,
};
use strait_samples::{Samples, Scratch};
use strait_target::Registry;
use strait_verify::{Analysis, Comparison, ComparisonSpace, Finding, VerifyError, analyse, merge};

use crate::{
    artifact::{Computed, Kernels, Opened, given_samples},
    deployment::DEPLOYMENT_FILE,
    diagnostic::Diagnostics,
    evaluation::views,
    failure,
    limits::Demand,
    session::Session,
    stop::Stop,
};

pub use report::{FusionLine, Runs, Subject, Unsound, Verification};
pub use strait_container::Digest;

/// Request of a verification, besides the artifact.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Samples to run on, `[NAME=]PATH` each, as they are stored: they are preprocessed as the artifact says.
    pub data: Vec<String>,
    /// Number of random inputs.
    pub samples: usize,
    /// Seed of the random inputs.
    pub seed: u64,
    /// The digest that the artifact has to have.
    pub expect: Option<Digest>,
    /// Who computes the fused graph.
    pub kernels: Kernels,
}

/// Verifies the artifact in a folder. What is wrong with it is in the answer.
///
/// The fused graph is computed by the kernels that are registered for the target, where it is registered with the table
/// that the artifact was made with, and by the host otherwise.
///
/// # Errors
/// A folder that holds no artifact, or one of another version; samples that do not fit it; the target's own kernels, where
/// they are asked for, that fail, or compute another thing than the host does; an interruption.
pub fn verify(
    folder: &Path,
    registry: &Registry,
    request: &Request,
    session: &Session<'_>,
) -> Result<Verification, Stop> {
    let artifact = match Artifact::open(folder) {
        Ok(artifact) => artifact,
        Err(ArtifactError::Damaged { name, reason, .. }) => {
            return Ok(Verification::unreadable(folder, Unsound::file(&name, reason)));
        }
        Err(error) => return Err(failure::reading(error)),
    };
    let mut found = Verification::new(&artifact);
    if let Some(expected) = request
        .expect
        .filter(|expected| *expected != artifact.manifest().digest())
    {
        found.findings.push(Unsound::another(&artifact, expected));
    }
    let changed = session.phase("compare the files", None, |_| {
        artifact.check().map_err(failure::reading)
    })?;
    for finding in &changed {
        found.findings.push(Unsound::file(finding.file(), finding.to_string()));
    }
    if changed
        .iter()
        .any(|finding| [MODEL_FILE, DEPLOYMENT_FILE].contains(&finding.file()))
    {
        return Ok(found);
    }
    let opened = match session.phase("read", None, |_| open(artifact, registry))? {
        Ok(opened) => opened,
        Err(finding) => {
            found.findings.push(finding);
            return Ok(found);
        }
    };
    let opened = opened.by(&request.kernels, registry, session)?;
    found.elsewhere = opened.elsewhere().map(str::to_owned);
    found.computed = Some(opened.computed().clone());
    found.own_model = opened.own_model();
    let samples = match &request.data[..] {
        [] => None,
        data => Some(given_samples(data, &opened.inputs()?)?.0),
    };
    found.findings.extend(agreement::check(&opened, registry)?);
    let certificates = &opened.model.certificates;
    let analysis = session.phase("derive the certificates", None, |_| {
        Ok(analyse(opened.module(), certificates))
    })?;
    let analysis = match analysis {
        Ok(analysis) => analysis,
        Err(error) => {
            found.findings.push(unsound(&opened, error)?);
            return Ok(found);
        }
    };
    found.fusions = report::lines(&analysis);
    let work = Work {
        opened: &opened,
        analysis: &analysis,
        request,
        given: samples.as_ref(),
        session,
    };
    let mut ran = work.run(opened.loops())?;
    let mut fault = None;
    if let Kernels::Target(_) = request.kernels
        && !ran.is_sound()
    {
        // What the host computes says whose fault it is.
        let by_the_host = work.run(&Standard)?;
        if by_the_host.is_sound() {
            fault = Some(format!("{} computes it otherwise: ", kernels(&opened)));
        } else {
            found.computed = Some(Computed::Host(
                "the artifact is not sound by the host either".to_owned(),
            ));
            found.own_model = None;
            ran = by_the_host;
        }
    }
    found.runs = ran.runs;
    let layer = |finding| Unsound::layer(opened.module(), finding);
    let differs = ran.findings.iter().map(|finding| {
        let layer = layer(finding);
        let message = format!("{}{}", fault.as_deref().unwrap_or_default(), layer.message);
        Unsound { message, ..layer }
    });
    if fault.is_some() && found.findings.is_empty() && analysis.findings().is_empty() {
        return Err(blamed(differs, ran.failed));
    }
    found.findings.extend(analysis.findings().iter().map(layer));
    found.findings.extend(differs);
    if let Some(error) = ran.failed {
        found.findings.push(unsound(&opened, error)?);
    }
    Ok(found)
}

/// The target's kernels, as errors name them.
fn kernels(opened: &Opened) -> String {
    let target = &opened.artifact.manifest().target;
    match &target.origin {
        Some(TargetOrigin::Library { package, .. }) => format!("the plugin {package}"),
        _ => format!("the target `{}`", target.id),
    }
}

/// The fault of the target's kernels, which fail or compute other codes than the host, of an artifact that is as it should be.
fn blamed(differs: impl Iterator<Item = Unsound>, failed: Option<VerifyError>) -> Stop {
    match failed {
        Some(VerifyError::Execute { source, .. }) => return failure::execute(source),
        Some(error) => return failure::of_target(error.to_string()).into(),
        None => {}
    }
    let layers = differs.map(|layer| {
        let text = format!("layer `{}`{}: {}", layer.name, layer.of(), layer.message);
        failure::of_target(text).note("by the host the artifact is as it should be")
    });
    Diagnostics(layers.collect()).into()
}

/// The artifact ready to run, or the file that cannot be read although its digest is right.
fn open(artifact: Artifact, registry: &Registry) -> Result<Result<Opened, Unsound>, Stop> {
    let model = match artifact.model(Integrity::Full) {
        Ok(model) => model,
        Err(ArtifactError::Model { source, .. }) => return Ok(Err(Unsound::file(MODEL_FILE, source.to_string()))),
        Err(error) => return Err(failure::reading(error)),
    };
    match Opened::new(artifact, model, registry) {
        Ok(opened) => Ok(Ok(opened)),
        Err(Stop::Found(found)) => Ok(Err(Unsound::file(DEPLOYMENT_FILE, found.to_string()))),
        Err(stop) => Err(stop),
    }
}

/// Runs of both graphs.
struct Work<'a> {
    opened: &'a Opened,
    analysis: &'a Analysis<'a>,
    request: &'a Request,
    given: Option<&'a Samples>,
    session: &'a Session<'a>,
}

/// Outcome of the runs.
#[derive(Default)]
struct Ran {
    runs: Runs,
    findings: Vec<Finding>,
    /// Reason why a graph cannot be run.
    failed: Option<VerifyError>,
}

impl Ran {
    fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.failed.is_none()
    }
}

impl Work<'_> {
    /// Runs both graphs on all samples, the fused one on these loops.
    fn run(&self, loops: &dyn LoopsFor) -> Result<Ran, Stop> {
        let Work {
            opened,
            analysis,
            request,
            given,
            session,
        } = *self;
        let mut ran = Ran::default();
        let count = request.samples + given.map_or(0, Samples::count);
        if count == 0 {
            return Ok(ran);
        }
        let options = PlanOptions {
            context: session.context,
            loops,
            join: true,
        };
        let demand = Demand::comparing(opened.module()).map_err(failure::execute)?;
        let threads = session.admit(&demand, count)?;
        let comparison = match session.phase("prepare the layers", None, |_| Ok(Comparison::new(analysis, &options)))? {
            Ok(comparison) => comparison,
            Err(error) => {
                ran.failed = Some(error);
                return Ok(ran);
            }
        };
        ran.runs = Runs {
            random: request.samples,
            given: count - request.samples,
            layers: comparison.layer_count(),
            outputs: analysis.is_exact(),
        };
        let ranges = opened.ranges();
        let inside = match given {
            Some(_) => Inside::new(opened, &options)?,
            None => None,
        };
        let worker = || {
            let threads = Threads::one()?;
            let inside = inside.as_ref().map(|inside| Workspace::new(&inside.plan, &threads));
            Ok((comparison.space(&threads), Scratch::default(), inside))
        };
        let work = |(space, scratch, whole): &mut (ComparisonSpace, Scratch, Option<Workspace>), index: usize| {
            let (inputs, sample) = match given.filter(|_| index >= request.samples) {
                Some(given) => {
                    let number = index - request.samples;
                    let sample = given.sample(number, scratch).map_err(failure::data)?;
                    let views = views(&sample)?;
                    let inputs = match (&inside, whole) {
                        (Some(inside), Some(space)) => {
                            let random = comparison.random_inputs(request.seed, index, &ranges);
                            random.and_then(|random| inside.filled(space, &views, random))
                        }
                        _ => Ok(views.iter().map(TensorView::to_tensor).collect()),
                    };
                    (inputs, format!("sample {number}"))
                }
                None => (
                    comparison.random_inputs(request.seed, index, &ranges),
                    format!("random sample {index}"),
                ),
            };
            let found = inputs.and_then(|inputs| {
                let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
                comparison.run(space, &views, &sample)
            });
            Ok::<_, Stop>(found)
        };
        let (findings, failed) = (&mut ran.findings, &mut ran.failed);
        session.phase("compare the graphs", Some(count), |done| {
            let sink = |index: usize, found: Result<Vec<Finding>, VerifyError>| {
                match found {
                    Ok(found) => merge(findings, found),
                    Err(error) => *failed = failed.take().or(Some(error)),
                }
                Ok(done(index + 1))
            };
            map_in_order(count, threads, worker, work, sink).map_err(|error| match error {
                SampleError::Sample { source, .. } => source,
                SampleError::Worker(error) => failure::execute(error),
                SampleError::Stopped { .. } => Stop::Interrupted,
            })
        })?;
        Ok(ran)
    }
}

/// The finding for an error that keeps an artifact from being verified; an error of our own is a defect.
fn unsound(opened: &Opened, error: VerifyError) -> Result<Unsound, Stop> {
    if let VerifyError::Execute { source, .. } = &error {
        match source {
            ExecuteError::Ours(text)
            | ExecuteError::Node {
                source: StepError::Ours(text),
                ..
            } => return Err(Stop::Defect(text.clone())),
            ExecuteError::Threads(_) => return Err(failure::execute(source.clone())),
            ExecuteError::Node { node, .. } => return Ok(Unsound::node(opened.module(), node, error.to_string())),
            _ => {}
        }
    }
    Ok(Unsound::file(MODEL_FILE, error.to_string()))
}
