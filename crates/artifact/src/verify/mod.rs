//! Verifies an artifact: compares the files with the manifest, and the report and the certificates with the graphs.
//! Then runs the fused graph and the lowered graph on samples and compares their results.

mod agreement;
mod inside;
mod report;
mod runs;

use std::{path::Path, sync::Arc};

use serde::de::DeserializeOwned;
use strait_compile::{Built, CompileError, Means, TargetLoops, Watch};
use strait_container::{Artifact, ArtifactError, Digest, Integrity, MODEL_FILE, TargetOrigin};
use strait_core::{Bodies, CertificateRecord, Module};
use strait_execute::{ExecuteError, LoopsFor, Standard};
use strait_quantize::observe::Samples;
use strait_target::{Registry, Target};
use strait_verify::{Ranges, VerifyError, analyse};

use crate::{Computed, DEPLOYMENT_FILE, Error, Opened};

pub use report::{FusionLine, Runs, Subject, Unsound, Verification};
use runs::Work;

/// Which samples the graphs are run on.
#[derive(Clone, Copy, Default)]
pub struct RunSamples<'a> {
    /// Number of random inputs.
    pub random: usize,
    /// Seed of the random inputs.
    pub seed: u64,
    /// Samples that the user gave, in the form that the model takes.
    pub given: Option<&'a dyn Samples>,
}

/// The graphs that are verified, with bodies of control flow inlined and not inlined, and their certificates.
#[derive(Clone, Copy)]
struct Graphs<'a> {
    /// The lowered and the fused graph, with the bodies of control flow inlined.
    open: &'a Module,
    /// The lowered and the fused graph as they are executed, with bodies of control flow as graphs of their own.
    whole: &'a Module,
    /// The bodies of control flow that are inlined in the main graph.
    bodies: &'a Bodies,
    certificates: &'a [CertificateRecord],
    ranges: &'a Ranges,
}

/// How often the verification starts again if another process replaces the artifact while its files are compared.
const ATTEMPTS: usize = 16;

/// Compares the files of the artifact in a folder with its manifest and with each other. Returns what is wrong. If the
/// graphs can be verified next, also returns the opened artifact.
///
/// # Errors
/// If the folder is not an artifact or has another version, or the user interrupted.
pub fn verify_files<P: DeserializeOwned>(
    folder: &Path,
    registry: &Registry,
    expect: Option<Digest>,
    watch: &dyn Watch,
) -> Result<(Verification, Option<Opened<P>>), Error> {
    let mut attempts = ATTEMPTS;
    loop {
        attempts -= 1;
        match files_of(folder, registry, expect, watch) {
            // Another artifact has taken the place of this one, so the new one is verified.
            Err(Error::Container(ArtifactError::Replaced { .. })) if attempts > 0 => {}
            done => return done,
        }
    }
}

fn files_of<P: DeserializeOwned>(
    folder: &Path,
    registry: &Registry,
    expect: Option<Digest>,
    watch: &dyn Watch,
) -> Result<(Verification, Option<Opened<P>>), Error> {
    let artifact = match Artifact::open(folder) {
        Ok(artifact) => artifact,
        Err(ArtifactError::Damaged { name, reason, .. }) => {
            return Ok((Verification::unreadable(folder, Unsound::file(&name, reason)), None));
        }
        Err(error) => return Err(error.into()),
    };
    let mut found = Verification::new(&artifact);
    if let Some(expected) = expect.filter(|expected| *expected != artifact.manifest().digest()) {
        found.findings.push(Unsound::another(&artifact, expected));
    }
    let changed = watch.step("compare the files", None, |_| Ok::<_, Error>(artifact.check()?))?;
    let files = changed
        .iter()
        .map(|finding| Unsound::file(finding.file(), finding.to_string()));
    found.findings.extend(files);
    if changed
        .iter()
        .any(|finding| [MODEL_FILE, DEPLOYMENT_FILE].contains(&finding.file()))
    {
        return Ok((found, None));
    }
    match watch.step("read", None, |_| open(artifact, registry))? {
        Ok(opened) => {
            found.findings.extend(agreement::check(&opened, registry)?);
            Ok((found, Some(opened)))
        }
        // The file cannot be read although its digest is right.
        Err(finding) => {
            found.findings.push(finding);
            Ok((found, None))
        }
    }
}

/// Opens the artifact to run it, or reports which file cannot be read.
fn open<P: DeserializeOwned>(artifact: Artifact, registry: &Registry) -> Result<Result<Opened<P>, Unsound>, Error> {
    let model = match artifact.model(Integrity::Full) {
        Ok(model) => model,
        Err(ArtifactError::Model { source, .. }) => return Ok(Err(Unsound::file(MODEL_FILE, source.to_string()))),
        Err(error) => return Err(error.into()),
    };
    match Opened::new(artifact, model, registry) {
        Err(error @ (Error::Json { .. } | Error::Target(_))) => {
            Ok(Err(Unsound::file(DEPLOYMENT_FILE, error.to_string())))
        }
        opened => opened.map(Ok),
    }
}

/// Verifies a model that was compiled in this process: derives its certificates again, and runs its graphs on samples.
///
/// # Errors
/// If a run fails or exceeds its limits, or the user interrupted.
pub fn verify_built(
    built: &Built,
    (target, ranges): (&Arc<dyn Target>, &Ranges),
    request: &RunSamples<'_>,
    means: &Means<'_>,
    watch: &dyn Watch,
) -> Result<Verification, Error> {
    let spec = target.spec();
    let mut found = Verification {
        target: Some(format!("{} {}", spec.id, spec.version)),
        computed: Some(Computed::Target),
        ..Verification::default()
    };
    let mut open = built.module.clone();
    let graphs = Graphs {
        bodies: &strait_verify::lay_open(&mut open),
        open: &open,
        whole: &built.module,
        certificates: &built.certificates,
        ranges,
    };
    found.hold(&graphs, &TargetLoops(target.clone()), None, request, means, watch)?;
    Ok(found)
}

impl Verification {
    /// Verifies the graphs of an artifact whose files have been verified: derives the certificates again, and runs both
    /// graphs on samples.
    ///
    /// The fused graph runs with the kernels of the registered target if this target has the same table that the
    /// artifact was made with. Otherwise it runs with the host's kernels.
    ///
    /// # Errors
    /// If samples do not fit the model, or the user interrupted. If the target's own kernels were asked for: also if
    /// these kernels fail, or if their results differ from those of the host's kernels.
    pub fn with_model<P>(
        mut self,
        opened: &Opened<P>,
        request: &RunSamples<'_>,
        means: &Means<'_>,
        watch: &dyn Watch,
    ) -> Result<Verification, Error> {
        self.elsewhere.clone_from(&opened.elsewhere);
        self.computed = Some(opened.computed.clone());
        self.own_model = opened.own_model;
        let graphs = Graphs {
            open: opened.module(),
            whole: opened.whole(),
            bodies: &opened.bodies,
            certificates: &opened.model.certificates,
            ranges: &opened.ranges(),
        };
        let kernels = opened.own_kernels.then(|| kernels(opened));
        self.hold(&graphs, opened.loops.as_ref(), kernels, request, means, watch)?;
        Ok(self)
    }

    /// Derives the certificates again, runs both graphs and compares their results. `kernels` is the name of the
    /// target's kernels if the user asked for them. If these kernels compute wrong results, the graph also runs with
    /// the host's kernels. This shows whether the kernels or the artifact are at fault.
    fn hold(
        &mut self,
        graphs: &Graphs<'_>,
        loops: &dyn LoopsFor,
        kernels: Option<String>,
        request: &RunSamples<'_>,
        means: &Means<'_>,
        watch: &dyn Watch,
    ) -> Result<(), Error> {
        let analysis = watch.step("derive the certificates", None, |_| {
            Ok::<_, Error>(analyse(graphs.open, graphs.certificates))
        })?;
        let analysis = match analysis {
            Ok(analysis) => analysis,
            Err(error) => {
                self.findings.push(unsound(graphs.open, error)?);
                return Ok(());
            }
        };
        self.fusions = report::lines(&analysis);
        let work = Work {
            graphs,
            analysis: &analysis,
            request,
            means,
            watch,
        };
        let mut ran = work.run(loops)?;
        let mut fault = None;
        if let Some(kernels) = kernels.filter(|_| !ran.is_sound()) {
            let by_the_host = work.run(&Standard)?;
            if by_the_host.is_sound() {
                fault = Some(format!("{kernels} computes it otherwise: "));
            } else {
                self.computed = Some(Computed::Host(
                    "the artifact is not sound by the host either".to_owned(),
                ));
                self.own_model = None;
                ran = by_the_host;
            }
        }
        self.runs = ran.runs;
        let layer = |finding| Unsound::layer(graphs.open, finding);
        let differs = ran.findings.iter().map(|finding| {
            let layer = layer(finding);
            let message = format!("{}{}", fault.as_deref().unwrap_or_default(), layer.message);
            Unsound { message, ..layer }
        });
        if fault.is_some() && self.findings.is_empty() && analysis.findings().is_empty() {
            return Err(blamed(differs, ran.failed));
        }
        self.findings.extend(analysis.findings().iter().map(layer));
        self.findings.extend(differs);
        if let Some(error) = ran.failed {
            self.findings.push(unsound(graphs.open, error)?);
        }
        Ok(())
    }
}

/// The name of the target's kernels in errors.
fn kernels<P>(opened: &Opened<P>) -> String {
    let target = &opened.artifact.manifest().target;
    match &target.origin {
        Some(TargetOrigin::Library { package, .. }) => format!("the plugin {package}"),
        _ => format!("the target `{}`", target.id),
    }
}

/// The error if the target's kernels fail or compute other codes than the host, although the artifact is right.
fn blamed(differs: impl Iterator<Item = Unsound>, failed: Option<VerifyError>) -> Error {
    match failed {
        Some(VerifyError::Execute { source, .. }) => source.into(),
        Some(error) => CompileError::Kernels(vec![error.to_string()]).into(),
        None => Error::Kernels(
            differs
                .map(|layer| format!("layer `{}`{}: {}", layer.name, layer.of(), layer.message))
                .collect(),
        ),
    }
}

/// Returns the finding for an error that prevents an artifact from being verified. If only a bug in Strait can cause
/// the error, returns a defect instead.
fn unsound(module: &Module, error: VerifyError) -> Result<Unsound, Error> {
    if let VerifyError::Execute { source, .. } = &error {
        match source {
            source if source.defect().is_some() => return Err(source.clone().into()),
            // The system, or the person who gave the samples, is at fault, and not the artifact.
            ExecuteError::Threads(_) | ExecuteError::Input { .. } | ExecuteError::InputCount { .. } => {
                return Err(source.clone().into());
            }
            ExecuteError::Node { node, .. } => return Ok(Unsound::node(module, node, error.to_string())),
            _ => {}
        }
    }
    Ok(Unsound::file(MODEL_FILE, error.to_string()))
}
