//! Inspects a model in a file or an artifact in a folder.

use std::path::Path;

use strait_artifact::inspect::{self, Fusions, Inspected};
use strait_container::{Artifact, MANIFEST_FILE, MODEL_FILE, Quantization};
use strait_import::ReadOptions;

use crate::{
    diagnostic::Diagnostic,
    failure::{self, codes},
    model, recognise,
    stop::Stop,
};

/// Opens the artifact in a folder, or the model in a file. `pattern` chooses layers by their names in the source model.
///
/// # Errors
/// If the file cannot be read, or the pattern matches nothing.
pub fn open(subject: &Path, pattern: Option<&str>) -> Result<Inspected, Stop> {
    if !subject.is_dir() {
        let model = model::open(subject).and_then(|model| model.read(&ReadOptions::default()));
        let module = model.map_err(|error| failure::model(&error, subject))?;
        return Ok(Inspected::model(module, pattern)?);
    }
    let artifact = Artifact::open(subject).map_err(|error| match recognise::folder(subject) {
        // A folder that has a manifest or a container file, but cannot be opened, is a damaged artifact.
        Some(found)
            if [MANIFEST_FILE, MODEL_FILE]
                .iter()
                .all(|file| !subject.join(file).exists()) =>
        {
            found.into()
        }
        _ => Stop::from(error),
    })?;
    Ok(Inspected::artifact(&artifact, pattern)?)
}

/// Returns the fusions in the artifact in a folder; see [`inspect::fusions`].
///
/// # Errors
/// If the folder is not an artifact, or the pattern matches nothing.
pub fn fusions(folder: &Path, pattern: Option<&str>) -> Result<Fusions, Stop> {
    Ok(inspect::fusions(&compiled(folder, "fusions are made")?, pattern)?)
}

/// Returns the quantization configs of the artifact in a folder; see [`inspect::quantization`].
///
/// # Errors
/// If the folder is not an artifact, or the pattern matches nothing that has a config.
pub fn quantization(folder: &Path, pattern: Option<&str>) -> Result<Quantization, Stop> {
    Ok(inspect::quantization(&compiled(folder, "it is quantized")?, pattern)?)
}

/// Opens the artifact in a folder. If `folder` is a model file, the error says that the model has to be compiled first.
/// `makes` ends this message, for instance "it is quantized".
fn compiled(folder: &Path, makes: &str) -> Result<Artifact, Stop> {
    if folder.is_file() {
        let message = format!("{} is a model; {makes} when it is compiled", folder.display());
        let help = "name the folder of an artifact";
        return Err(Diagnostic::error(codes::ARTIFACT, message).help(help).into());
    }
    Ok(Artifact::open(folder)?)
}
