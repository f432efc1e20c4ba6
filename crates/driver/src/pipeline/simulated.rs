//! Makes the simulation of an artifact from the configuration that it was made with.

use std::borrow::Cow;
use strait_container::{Digest, Manifest, sha256};

use strait_core::Module;
use strait_lower::Parameters;
use strait_target::Registry;
use strait_verify::Ranges;

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::{Diagnostic, Diagnostics},
    dialect::expanded,
    evaluation::whole_of,
    failure::codes,
    session::Session,
    stop::Stop,
    targets,
};

use super::{cache, lowered::annotate, mixed, ready::make_ready, settings::settings_digest};
use crate::pipeline::job::Job;

/// Makes the simulation: the float graph with rounding wherever the artifact's integer graph has codes. To do this, the
/// model of the configuration `loaded` is annotated for the target again, with the same statistics as for the artifact,
/// and the model's parameters are quantized.
///
/// # Errors
/// If the artifact was not made with this configuration, model or calibration data, or if anything else stops a
/// compilation.
pub(crate) fn simulated(
    loaded: &Loaded,
    registry: Registry,
    manifest: &Manifest,
    session: &Session<'_>,
) -> Result<Module, Stop> {
    let loaded = &*expanded(loaded, &registry)?;
    let id = manifest.target.id.as_str();
    let chosen = targets::chosen(loaded, registry, session)?;
    let target = chosen.into_iter().find(|(target, _)| target.spec().id.as_str() == id);
    let (target, origin) = target.ok_or_else(|| other(loaded, &["target", "use"], &format!("it is for `{id}`")))?;
    if settings_digest(loaded, id)? != manifest.sources.config {
        return Err(other(loaded, &[], "its settings were others").into());
    }
    if Digest(target.spec().digest) != manifest.target.table {
        return Err(other(loaded, &["target", "use"], &format!("the table of `{id}` was another")).into());
    }
    let ready = make_ready(loaded, session)?;
    if ready.model.digest() != manifest.sources.model {
        return Err(other(loaded, &["model", "file"], "its model was another").into());
    }
    let data = &manifest.sources.data;
    if data.get("calibration") != Some(&ready.calibration) {
        let why = "its calibration data or its record were others";
        return Err(other(loaded, &["calibration", "data"], why).into());
    }
    if data.get("switches") != ready.switches.1.as_ref() {
        return Err(other(loaded, &["rewrite", "switch_file"], "its switch file was another").into());
    }
    let params = ready.params.as_ref();
    if data.get("params") != params.map(|params| sha256(params.text.as_bytes())).as_ref() {
        return Err(other(loaded, &["quantize", "params"], "its file of parameters was another").into());
    }
    if data.get(cache::SOURCE) != cache::digest(loaded, id)?.as_ref() {
        let why = "the artifact with the grids of its caches was another";
        return Err(other(loaded, &["output", "target", id], why).into());
    }
    let observation = ready.of_canonical(loaded, session)?.kept(&ready.model, session)?;
    let (of_target, selection) = ready.of_target(&observation, target.spec(), loaded, session)?;
    let parts = (&*of_target.module, &*of_target.observation, &selection);
    let ranges = Ranges::default();
    let job = Job::new(loaded, &ready, parts, (target, origin), &ranges);
    let mixed = mixed::search(&job, session)?;
    let job = mixed.as_ref().map_or(job.clone(), |mixed| mixed.job(&job));
    let annotated = annotate(&job, session)?;
    let simulated = strait_lower::simulate(&annotated, Some(job.target.spec()), Parameters::Reals);
    let simulated = simulated.map_err(|error| Stop::Defect(error.to_string()))?;
    whole_of(&ready.bodies, &simulated).map(Cow::into_owned)
}

/// The error if the artifact was made with another configuration than `loaded`.
fn other(loaded: &Loaded, keys: &[&str], why: &str) -> Diagnostics {
    let message = format!("the artifact was not made with this configuration: {why}");
    let finding: Diagnostic = loaded.error(codes::EVALUATION, &KeyPath::of(keys), message, "");
    finding.help("`strait compile` makes one with it").into()
}
