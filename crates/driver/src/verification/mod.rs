//! Verifies an artifact: its files against the manifest, its report and its certificates against its graphs, and the
//! fused graph against the lowered one on samples.

mod agreement;
mod report;

use std::path::Path;

use strait_container::{Artifact, ArtifactError, Integrity, MODEL_FILE};
use strait_execute::{ExecuteError, PlanOptions, SampleError, StepError, Tensor, TensorView, Threads, map_in_order};
use strait_samples::{Samples, Scratch};
use strait_target::Registry;
use strait_verify::{Analysis, Comparison, ComparisonSpace, Finding, VerifyError, analyse, merge};

use crate::{
    artifact::{Kernels, Opened, given_samples},
    deployment::DEPLOYMENT_FILE,
    evaluation::views,
    failure,
    limits::Demand,
    session::Session,
    stop::Stop,
};

pub use report::{Computed, FusionLine, Runs, Subject, Unsound, Verification};
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
/// A folder that holds no artifact, or one of another version; samples that do not fit it; an interruption.
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
    let opened = opened.by(&request.kernels, registry)?;
    found.elsewhere = opened.elsewhere().map(str::to_owned);
    found.computed = Some(opened.computed().clone());
    let samples = match &request.data[..] {
        [] => None,
        data => Some(given_samples(data, &opened.inputs()?)?),
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
    let mut findings = analysis.findings().to_vec();
    let failed = runs(
        &opened,
        &analysis,
        request,
        samples.as_ref(),
        session,
        &mut found.runs,
        &mut findings,
    )?;
    let layers = findings.iter().map(|finding| Unsound::layer(opened.module(), finding));
    found.findings.extend(layers);
    if let Some(error) = failed {
        found.findings.push(unsound(&opened, error)?);
    }
    Ok(found)
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

/// Runs both graphs on all samples. Where a graph cannot be run, the reason is the answer.
fn runs(
    opened: &Opened,
    analysis: &Analysis<'_>,
    request: &Request,
    given: Option<&Samples>,
    session: &Session<'_>,
    runs: &mut Runs,
    findings: &mut Vec<Finding>,
) -> Result<Option<VerifyError>, Stop> {
    let count = request.samples + given.map_or(0, Samples::count);
    if count == 0 {
        return Ok(None);
    }
    let options = PlanOptions {
        context: session.context,
        loops: opened.loops(),
        join: true,
    };
    let demand = Demand::comparing(opened.module()).map_err(failure::execute)?;
    let threads = session.admit(&demand, count)?;
    let comparison = match session.phase("prepare the layers", None, |_| Ok(Comparison::new(analysis, &options)))? {
        Ok(comparison) => comparison,
        Err(error) => return Ok(Some(error)),
    };
    *runs = Runs {
        random: request.samples,
        given: count - request.samples,
        layers: comparison.layer_count(),
        outputs: analysis.is_exact(),
    };
    let worker = || {
        let threads = Threads::one()?;
        Ok((comparison.space(&threads), Scratch::default()))
    };
    let work = |(space, scratch): &mut (ComparisonSpace, Scratch), index: usize| {
        let (inputs, sample) = match given.filter(|_| index >= request.samples) {
            Some(given) => {
                let index = index - request.samples;
                let sample = given.sample(index, scratch).map_err(failure::data)?;
                let tensors = views(&sample)?.iter().map(TensorView::to_tensor).collect();
                (Ok(tensors), format!("sample {index}"))
            }
            None => (
                comparison.random_inputs(request.seed, index),
                format!("random sample {index}"),
            ),
        };
        let found = inputs.and_then(|inputs| {
            let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
            comparison.run(space, &views, &sample)
        });
        Ok::<_, Stop>(found)
    };
    let mut failed = None;
    session.phase("compare the graphs", Some(count), |done| {
        let sink = |index: usize, found: Result<Vec<Finding>, VerifyError>| {
            match found {
                Ok(found) => merge(findings, found),
                Err(error) => failed = failed.take().or(Some(error)),
            }
            Ok(done(index + 1))
        };
        map_in_order(count, threads, worker, work, sink).map_err(|error| match error {
            SampleError::Sample { source, .. } => source,
            SampleError::Worker(error) => failure::execute(error),
            SampleError::Stopped { .. } => Stop::Interrupted,
        })
    })?;
    Ok(failed)
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
