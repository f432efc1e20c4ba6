//! Checks that the model agrees with the other files of the artifact: the report, the quantization configs, and the
//! target that the manifest names.
//!
//! Digests show that no file has changed since they were computed. They show nothing if somebody changed files and then
//! also the digests. So this module derives again everything that follows from the graphs, the certificates and the
//! registered targets.

use serde::de::DeserializeOwned;
use strait_container::{ArtifactError, Digest, QUANTIZATION_FILE, QUANTIZATION_SCHEMA};
use strait_report::{REPORT_FILE, Report, contradictions, disagreements};
use strait_target::Registry;
use strait_verify::LOWERED;

use super::Unsound;
use crate::{Error, Opened, opened::json};

/// Lists what does not agree with the model.
pub(super) fn check<P>(opened: &Opened<P>, registry: &Registry) -> Result<Vec<Unsound>, Error> {
    let mut found: Vec<Unsound> = target(opened, registry).into_iter().collect();
    found.extend(file(opened, (REPORT_FILE, strait_report::SCHEMA), |report| {
        about(report, opened)
    })?);
    let module = opened.module();
    let lowered = module.graphs.iter().find(|graph| module.name(graph.name) == LOWERED);
    found.extend(file(
        opened,
        (QUANTIZATION_FILE, QUANTIZATION_SCHEMA),
        |said| match lowered {
            Some(lowered) => contradictions(said, module, lowered),
            // A missing lowered graph is reported when the certificates are derived again.
            None => Vec::new(),
        },
    )?);
    Ok(found)
}

/// Compares a JSON file of the artifact with what the model says it should contain.
fn file<T: DeserializeOwned, P>(
    opened: &Opened<P>,
    (name, schema): (&'static str, u32),
    look: impl FnOnce(&T) -> Vec<String>,
) -> Result<Vec<Unsound>, Error> {
    let said = match json::<T>(&opened.artifact, name, schema) {
        Ok(said) => look(&said),
        // A file that differs from its digest in the manifest has already been reported.
        Err(Error::Container(ArtifactError::Damaged { .. })) => Vec::new(),
        Err(Error::Container(error @ ArtifactError::NoSuchFile { .. })) => vec![error.to_string()],
        Err(Error::Json { fault, .. }) => vec![format!("it {fault}")],
        Err(error) => return Err(error),
    };
    Ok(said.into_iter().map(|said| Unsound::file(name, said)).collect())
}

fn about<P>(report: &Report, opened: &Opened<P>) -> Vec<String> {
    let manifest = opened.artifact.manifest();
    let said = [&report.target.id, &report.target.version, &report.strait];
    let there = [&manifest.target.id, &manifest.target.version, &manifest.tool.version];
    let mut found = Vec::new();
    if said != there {
        let [id, version, tool] = said;
        let [other_id, other_version, other_tool] = there;
        found.push(format!(
            "it is of target {id} {version} by version {tool}, but the manifest says {other_id} {other_version} by \
             version {other_tool}"
        ));
    }
    found.extend(disagreements(report, &opened.model));
    found
}

/// Checks that the table whose digest the manifest has belongs to the target that the manifest names.
fn target<P>(opened: &Opened<P>, registry: &Registry) -> Option<Unsound> {
    let named = &opened.artifact.manifest().target;
    let mut entries = registry.entries();
    let (id, _) = entries.find(|(_, entry)| Digest(entry.table().digest()) == named.table)?;
    (id != named.id).then(|| {
        let text = format!("it names the target `{}`, but the table is that of `{id}`", named.id);
        Unsound::file("manifest.json", text)
    })
}
