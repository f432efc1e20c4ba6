//! Reads a model from a file, sets its dimensions and cuts it. The result is a float module whose shapes are fixed.

use crate::stop::Stop;
use std::num::NonZeroUsize;
use std::path::Path;

use strait_artifact::ModelReading;
use strait_compile::DeviceError;
use strait_container::{ModelFiles, sha256};
use strait_core::Module;
use strait_document::nearest;
use strait_execute::ExecuteError;
use strait_import::{Assumed, Decoded, ReadError, ReadOptions};

use crate::{
    config::{Glob, KeyPath, Loaded, types},
    diagnostic::{Diagnostic, Diagnostics},
    evaluation::{NoTail, Tail},
    failure::{self, codes},
    model, recognise,
};

/// An error lists at most this many names.
const MOST_NAMES: usize = 3;

/// A model that was read.
#[derive(Debug)]
pub struct FloatModel {
    /// The module. Its main graph is in the float stage, and every shape is fixed.
    pub module: Module,
    /// The files that contain the module's tensors.
    pub files: ModelFiles,
    /// What the reader assumed where the file says nothing or contradicts itself.
    pub assumed: Assumed,
    /// What lies behind the outputs at which the model is cut, if it is asked for and there is something.
    pub(crate) tail: Option<Tail>,
}

/// The part of the configuration that says how the model is to be read.
pub(crate) fn reading(config: &types::Config) -> ModelReading {
    let model = &config.model;
    let texts = |patterns: &[strait_config::leaf::Pattern]| patterns.iter().map(|p| p.as_str().to_owned()).collect();
    ModelReading {
        bind: model
            .bind
            .iter()
            .map(|(name, &size)| (name.clone(), size.into()))
            .collect(),
        inputs: texts(&model.inputs),
        outputs: texts(&model.outputs),
        hybrid_as_float: model.hybrid == Some(types::Hybrid::Float),
        embedded: config.embedded(),
        batch: config.batch_axes(),
    }
}

/// Reads the model, and what lies behind its cut if `has_tail` is set. An open batch dimension is set to 1. The findings do not name a place in the configuration, but the
/// code of a finding shows which key it is about.
///
/// # Errors
/// If the file is not a model, has unknown parts, cannot be cut as the configuration says, or has a dimension without a
/// size.
pub(crate) fn read_model(
    reading: &ModelReading,
    has_tail: bool,
    file: &Path,
    threads: NonZeroUsize,
) -> Result<FloatModel, Diagnostics> {
    read_as(reading, Some(has_tail), file, threads)
}

/// Like [`read_model`], for a look at a model: dimensions without a size stay as they are, and nothing is embedded.
///
/// # Errors
/// As for [`read_model`], apart from those about sizes.
pub(crate) fn read_open(reading: &ModelReading, file: &Path) -> Result<FloatModel, Diagnostics> {
    read_as(reading, None, file, NonZeroUsize::MIN)
}

/// Reads a model to compile it, with or without a tail, or only to look at it.
fn read_as(
    reading: &ModelReading,
    compiled: Option<bool>,
    file: &Path,
    threads: NonZeroUsize,
) -> Result<FloatModel, Diagnostics> {
    let named = |error: ReadError| failure::model_findings(&error, file);
    let bytes = model::mapped(file).map_err(|error| {
        let unreadable = || Diagnostic::error(codes::MODEL, format!("{} cannot be read: {error}", file.display()));
        recognise::folder(file).unwrap_or_else(unreadable)
    })?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let model = model::decode(bytes.clone(), folder).map_err(named)?;
    if reading.hybrid_as_float && !model.may_be_hybrid() {
        let text = "`model.hybrid` is about layers of TFLite, and the model is of another format";
        let finding = Diagnostic::error(codes::MODEL, text).about(KeyPath::of(&["model", "hybrid"]));
        return Err(finding.into());
    }
    let options = ReadOptions {
        bind: reading.bind.clone(),
        inputs: resolve(model.as_ref(), "inputs", &reading.inputs)?,
        outputs: resolve(model.as_ref(), "outputs", &reading.outputs)?,
        hybrid_as_float: reading.hybrid_as_float,
        batch: reading.batch.clone(),
    };
    // The digest of a large file takes about as long as reading the model from it.
    let (digest, read) = strait_execute::both(
        threads,
        || Ok::<_, ExecuteError>(sha256(&bytes)),
        || Ok(model.read_single(&options)),
    )
    .map_err(|error| Diagnostic::error(codes::MODEL, error.to_string()))?;
    let (module, assumed) = read.map_err(named)?;
    let tail = (compiled == Some(true)).then(|| Tail::read(model.as_ref(), &options, &module));
    let tail = tail.transpose().map_err(|why| match why {
        NoTail::Read(error) => named(error),
        NoTail::Found(found) => found,
    })?;
    let module = match compiled {
        Some(_) => with_sizes(module, reading)?,
        None => module,
    };
    Ok(FloatModel {
        module,
        files: ModelFiles::of_digest(file.display().to_string(), (bytes, digest), model.data_files()),
        assumed,
        tail: tail.flatten(),
    })
}

/// Checks that each dimension has a size, and embeds the steps that are to be part of the model.
fn with_sizes(module: Module, reading: &ModelReading) -> Result<Module, Diagnostics> {
    let free = strait_import::free_dimensions(&module);
    Diagnostics(free.iter().map(failure::free_dimension).collect()).or(())?;
    strait_compile::embed(module, &reading.embedded).map_err(|error| {
        let key = match &error {
            DeviceError::Unfit { name, .. } => KeyPath::of(&["input", name, "device"]),
            DeviceError::Defect(_) => KeyPath::of(&["input"]),
        };
        Diagnostic::error(codes::MODEL, error.to_string()).about(key).into()
    })
}

/// Returns the names that the patterns match: first all names for the first pattern, in the order of the file, then
/// those for the second pattern, and so on. A pattern with wildcards is compared with the names of tensors. Only if no
/// tensor matches, the pattern is compared with the names of layers. So no tensor is listed twice.
fn resolve(model: &dyn Decoded, key: &str, patterns: &[String]) -> Result<Vec<String>, Diagnostics> {
    let mut names: Vec<String> = Vec::new();
    let mut findings = Vec::new();
    // Finding all names takes time in a large model.
    if patterns.is_empty() {
        return Ok(names);
    }
    let (tensors, nodes) = (model.tensors(), model.nodes());
    for (index, pattern) in patterns.iter().enumerate() {
        let glob = Glob::new(pattern);
        let matching = |names: &[&str]| -> Vec<String> {
            let matching = names.iter().filter(|name| glob.matches(name));
            matching.map(|&name| name.to_owned()).collect()
        };
        let mut matched = matching(&tensors);
        if matched.is_empty() {
            matched = matching(&nodes);
        }
        if matched.is_empty() {
            let all = tensors.iter().chain(&nodes).copied();
            let near = nearest::closest(pattern, all, MOST_NAMES).join("`, `");
            let message = format!("`{pattern}` in `model.{key}` is neither a tensor nor a layer of the model");
            let finding = Diagnostic::error(codes::CUT, message).about(KeyPath::of(&["model", key]).index(index));
            findings.push(finding.help(format!("near it are `{near}`")));
        }
        for name in matched {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Diagnostics(findings).or(names)
}

/// Reads the float model that the configuration names.
///
/// # Errors
/// If the file cannot be read, or does not have the digest that the configuration expects.
pub(super) fn read(loaded: &Loaded, threads: NonZeroUsize) -> Result<FloatModel, Stop> {
    let model = &loaded.config.model;
    let read = read_model(
        &reading(&loaded.config),
        model.tail == types::Tail::Onnx,
        model.file.as_ref(),
        threads,
    )
    .map_err(|mut found| {
        for finding in &mut found.0 {
            let key = finding.key.take().unwrap_or(KeyPath::of(&["model", "file"]));
            finding.excerpt = loaded.error("", &key, "", "").excerpt;
        }
        found
    })?;
    match &model.sha256 {
        Some(expected) if expected.hex() != read.files.file().to_string() => {
            let path = KeyPath::of(&["model", "sha256"]);
            let finding = loaded.error(codes::DIGEST, &path, "the model is not the one that is asked for", "");
            Err(finding.note(format!("the file has {}", read.files.file())).into())
        }
        _ => Ok(read),
    }
}
