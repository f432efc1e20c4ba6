//! Inspects a model in a file or an artifact in a folder.

use std::path::Path;

use strait_artifact::inspect::{self, Fusions, Inspected};
use strait_container::{Artifact, MANIFEST_FILE, MODEL_FILE, Quantization};
use strait_core::Module;
use strait_import::ReadOptions;

use crate::{
    config::{self, Override, SCHEMA},
    diagnostic::Diagnostic,
    failure::{self, codes},
    model,
    pipeline::read,
    recognise,
    stop::Stop,
};

/// Opens the artifact in a folder, or the model in a file. `set` are keys of `[model]`, such as where the model is cut.
/// `pattern` chooses layers by their names in the source model.
///
/// # Errors
/// If the file cannot be read, the keys are wrong or of an artifact, or the pattern matches nothing.
pub fn open(subject: &Path, set: &[String], pattern: Option<&str>) -> Result<Inspected, Stop> {
    if !subject.is_dir() {
        let module = match set {
            // What can be read without any sizes is shown as it is.
            [] => model::open(subject)
                .and_then(|model| model.read(&ReadOptions::default()))
                .map_err(|error| failure::model(&error, subject))?,
            set => as_set(subject, set)?,
        };
        return Ok(Inspected::model(module, pattern)?);
    }
    if !set.is_empty() {
        let message = format!(
            "{} is an artifact: its model is cut and has its sizes",
            subject.display()
        );
        let help = "leave `--set` out, or name the model";
        return Err(Diagnostic::error(codes::ARTIFACT, message).help(help).into());
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

/// The model with these keys of a configuration.
fn as_set(subject: &Path, set: &[String]) -> Result<Module, Stop> {
    if let Some(other) = set.iter().find(|set| !set.trim_start().starts_with("model.")) {
        let message = format!("`{other}` says nothing about how a model is read");
        let help = "set keys of `model`, such as `model.outputs` or `model.bind`";
        return Err(Diagnostic::error(codes::MODEL, message).help(help).into());
    }
    let keys = set.iter().map(Override::set);
    let fixed = [
        Override::model(subject.to_string_lossy()),
        // A configuration has these, but nothing is compiled.
        Override::targets(vec!["none".to_owned()]),
        Override::output("build/{target}"),
    ];
    let overrides: Vec<Override> = fixed.into_iter().chain(keys).collect();
    let text = format!("schema = {SCHEMA}\n");
    let loaded = config::parse("the command line", text, Path::new(""), &overrides)?;
    let read = read::read_open(&read::reading(&loaded.config), subject).map_err(|mut found| {
        for finding in &mut found.0 {
            if let Some(key) = &finding.key {
                finding.excerpt = loaded.error("", key, "", "").excerpt;
            }
        }
        found
    })?;
    Ok(read.module)
}

/// The graph as a drawing that is never too large to be looked at.
pub fn svg(inspected: &Inspected) -> String {
    let nodes = inspected.nodes().into_iter().map(|node| strait_page::drawing::Node {
        name: node.name,
        op: node.op,
        on_host: node.on_host,
        reads: node.reads,
    });
    strait_page::drawing::graph(&nodes.collect::<Vec<_>>())
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
