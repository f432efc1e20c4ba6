//! Makes the simulation of an artifact from the configuration that it was made with.

use std::borrow::Cow;
use strait_compile::OfTarget;
use strait_container::{Digest, Manifest};

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
    session::{Session, Steps},
    stop::Stop,
    targets,
};

use super::{
    compile::settings_digest,
    lowered::annotate,
    observe,
    ready::{Ready, make_ready},
};
use crate::pipeline::job::Job;

/// The float graph with rounding wherever the artifact's integer graph has codes. To make this graph, the model of the
/// configuration `loaded` is annotated for the target again, with the same statistics as for the artifact, and its
/// parameters are quantized.
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
    let Ready {
        canonical,
        bodies,
        switches: (switches, switch_file),
        rules,
        selection,
        samples,
        model,
        record,
        calibration,
        requests,
        outputs,
        ..
    } = ready;
    if manifest
        .sources
        .data
        .get("calibration")
        .is_none_or(|digest| *digest != calibration)
    {
        return Err(other(
            loaded,
            &["calibration", "data"],
            "its calibration data or its record were others",
        )
        .into());
    }
    if manifest.sources.data.get("switches") != switch_file.as_ref() {
        return Err(other(loaded, &["rewrite", "switch_file"], "its switch file was another").into());
    }
    let cache = loaded.config.calibration.cache.as_ref();
    let observation = observe::statistics((&canonical, &bodies), &requests, (&samples, &model), cache, session)?;
    let ranges = Ranges::default();
    let selection = selection.of_target(&rules.quantize, id);
    let steps = Steps { session, target: id };
    let table = (target.spec(), &switches);
    let of_target = OfTarget::new((&canonical, &observation), table, &steps, |module, unmet| {
        observe::statistics((module, &bodies), unmet, (&samples, &model), cache, session)
    })?;
    let selection = selection.carried(&canonical, &of_target.module);
    let job = Job {
        loaded,
        canonical: &of_target.module,
        bodies: &bodies,
        rules: &rules,
        selection: &selection,
        observation: &of_target.observation,
        target,
        origin,
        formats: Vec::new(),
        ranges: &ranges,
        record: record.as_ref(),
        switches: &switches,
        batch: &[],
        outputs: &outputs,
    };
    let annotated = annotate(&job, session)?;
    let simulated = strait_lower::simulate(&annotated, Some(job.target.spec()), Parameters::Reals);
    let simulated = simulated.map_err(|error| Stop::Defect(error.to_string()))?;
    whole_of(&bodies, &simulated).map(Cow::into_owned)
}

/// The error if the artifact was made with another configuration than `loaded`.
fn other(loaded: &Loaded, keys: &[&str], why: &str) -> Diagnostics {
    let message = format!("the artifact was not made with this configuration: {why}");
    let finding: Diagnostic = loaded.error(codes::EVALUATION, &KeyPath::of(keys), message, "");
    finding.help("`strait compile` makes one with it").into()
}
