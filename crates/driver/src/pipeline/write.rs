//! The artifact of one target, file by file.

use strait_container::{
    ArtifactWriter, Digest, Provenance, QUANTIZATION_FILE, Quantization, Sources, TargetVersion, ToolVersion,
};
use strait_core::{Module, Rewritten};

use crate::{
    deployment::{DEPLOYMENT_FILE, DeployedInput, Deployment, SCHEMA},
    failure,
    report::{REPORT_FILE, Report},
    session::Session,
    stop::Stop,
    targets,
};

use super::{
    emit, inputs,
    lowered::{Job, Lowered},
    read::reading,
};

/// Writes the artifact, and what the target asks for besides, and puts it in its place.
pub(super) fn write(
    job: &Job<'_>,
    lowered: &Lowered,
    (report, rewritten, qdq): (&Report, &Rewritten, Option<Module>),
    sources: Sources,
    writer: ArtifactWriter,
    session: &Session<'_>,
) -> Result<Digest, Stop> {
    let spec = job.target.spec();
    let own = || {
        let model = writer.add_model(&lowered.built.module, &lowered.built.certificates);
        model.map_err(failure::writing)?;
        documents(job, lowered, report, &writer).map(|()| None)
    };
    let [_, left_out] = session.both(own, || emit::emit(job, lowered, (rewritten, qdq), &writer))?;
    left_out.iter().for_each(|remark| session.remark(remark));
    let provenance = Provenance {
        sources,
        target: TargetVersion {
            id: spec.id.to_string(),
            origin: targets::recorded(&job.origin, &spec.bases),
            table: Digest(spec.digest),
            version: spec.version.to_string(),
        },
        tool: ToolVersion {
            name: "strait".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    };
    let manifest = writer.commit(provenance).map_err(failure::writing)?;
    Ok(manifest.digest())
}

/// Writes the report, the configs of all operands, and the deployment.
fn documents(job: &Job<'_>, lowered: &Lowered, report: &Report, writer: &ArtifactWriter) -> Result<(), Stop> {
    writer
        .add_with(REPORT_FILE, |out| report.write_json(out))
        .map_err(failure::writing)?;
    let quantization = Quantization::of(&lowered.built.annotated);
    writer
        .add_with(QUANTIZATION_FILE, |out| quantization.write_json(out))
        .map_err(failure::writing)?;
    let mut deployment =
        serde_json::to_vec_pretty(&deployment(job)).map_err(|error| Stop::Defect(error.to_string()))?;
    deployment.push(b'\n');
    writer.add_bytes(DEPLOYMENT_FILE, &deployment).map_err(failure::writing)
}

fn deployment(job: &Job<'_>) -> Deployment {
    let config = &job.loaded.config;
    Deployment {
        schema: SCHEMA,
        reading: reading(&config.model),
        inputs: inputs::inputs(job.canonical, job.bodies)
            .into_iter()
            .map(|input| DeployedInput {
                preprocess: inputs::preprocessing(job.loaded, &input.name).clone(),
                range: job.ranges.0.get(&input.name).copied(),
                name: input.name,
            })
            .collect(),
        options: (config.target)
            .plain(&job.target.spec().id, |name| {
                job.target.spec().options.contains_key(name)
            })
            .unwrap_or_default(),
    }
}
