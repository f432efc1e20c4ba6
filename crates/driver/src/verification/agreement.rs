//! Agreement of the model with the files beside it: the report, and the target that the manifest names.
//!
//! The digests say that no file was changed since the artifact was made, and nothing of an artifact whose digests were
//! made anew. What follows from the graphs, the certificates and the registered targets is derived again here.

use strait_container::{ArtifactError, Digest};
use strait_target::Registry;

use super::report::Unsound;
use crate::{
    artifact::Opened,
    failure,
    pipeline::REPORT_FILE,
    report::{Report, disagreements},
    stop::Stop,
};

/// Findings on what does not agree with the model.
pub(super) fn check(opened: &Opened, registry: &Registry) -> Result<Vec<Unsound>, Stop> {
    let mut found: Vec<Unsound> = target(opened, registry).into_iter().collect();
    let bytes = match opened.artifact.file(REPORT_FILE) {
        Ok(bytes) => bytes,
        // A file that is not as the manifest says was found by its digest.
        Err(ArtifactError::Damaged { .. }) => return Ok(found),
        Err(error @ ArtifactError::NoSuchFile { .. }) => {
            found.push(Unsound::file(REPORT_FILE, error.to_string()));
            return Ok(found);
        }
        Err(error) => return Err(failure::reading(error)),
    };
    let said = match serde_json::from_slice::<Report>(&bytes) {
        Ok(report) => about(&report, opened),
        Err(error) => vec![format!("it cannot be read: {error}")],
    };
    found.extend(said.into_iter().map(|said| Unsound::file(REPORT_FILE, said)));
    Ok(found)
}

fn about(report: &Report, opened: &Opened) -> Vec<String> {
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

/// A table belongs to one target.
fn target(opened: &Opened, registry: &Registry) -> Option<Unsound> {
    let named = &opened.artifact.manifest().target;
    let mut entries = registry.entries();
    let (id, _) = entries.find(|(_, entry)| Digest(entry.table().digest()) == named.table)?;
    (id != named.id).then(|| {
        let text = format!("it names the target `{}`, but the table is that of `{id}`", named.id);
        Unsound::file("manifest.json", text)
    })
}
