//! Recognizes files that were given as a model or a configuration but are something else. The error names the format of
//! such a file and a command that helps.
//!
//! Only files that a reader has refused, or that cannot be a configuration, are examined. So a valid model is never
//! mistaken for something else.

mod formats;

use std::{fs, path::Path};

use bytes::Bytes;
use strait_container::MANIFEST_FILE;
use strait_core::codes;
use strait_import::{
    Format as _, recognised,
    wire::{Value, fields},
};
use strait_tensorflow::{FREEZE, TensorFlow};

use crate::{
    config::{self, Loaded, Override},
    diagnostic::{Diagnostic, Diagnostics},
    model,
};

use formats::{FORMATS, Format, TORCH, start_of_text};

/// The error for a file that the reader of a format has refused. `words` is what the reader said.
pub(crate) fn refused_model(file: &Path, read_as: &str, words: &str) -> Diagnostic {
    let name = file.display();
    let bytes = content(file).unwrap_or_default();
    let model = |message: String| Diagnostic::error(codes::MODEL, message);
    if let Some(format) = format(&bytes) {
        return model(format!("{name} is no model that is read: it is {}", format.name)).help(help(format, file));
    }
    if let Some(missing) = missing(&bytes) {
        return model(format!(
            "{name} is cut: at least {missing} bytes of the {read_as} model are missing at its end"
        ))
        .help("copy or download the file again, and compare its length");
    }
    if let Some(format) = by_name(file) {
        let message = format!("{name} is no model that is read: by its name it is {}", format.name);
        return model(message).help(help(format, file));
    }
    if start_of_text(&bytes)
        .iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    {
        return model(format!("{name} is no model: it is a text"));
    }
    model(format!("{name} is no {read_as} model, or a damaged one")).note(format!("what the decoder says: {words}"))
}

/// The error for a folder that was given as a model, if the kind of the folder is recognized.
pub(crate) fn folder(folder: &Path) -> Option<Diagnostic> {
    let name = folder.display();
    let model = |text: &str| Diagnostic::error(codes::MODEL, format!("{name} is {text}"));
    if !folder.is_dir() {
        return None;
    }
    let has = |file: &str| folder.join(file).is_file();
    if has("saved_model.pb") {
        return Some(model("a TensorFlow SavedModel").help(FREEZE.replace("FOLDER", &name.to_string())));
    }
    if has(MANIFEST_FILE) {
        return Some(model("an artifact, which is compiled already").help(ARTIFACT));
    }
    if has("config.json") && (has("model.safetensors") || has("pytorch_model.bin")) {
        let command = format!("optimum-cli export onnx --model {name} out");
        return Some(model("a model of Hugging Face, which holds weights and no graph").help(format!("`{command}`")));
    }
    let entries = fs::read_dir(folder)
        .ok()?
        .filter_map(Result::ok)
        .map(|entry| entry.path());
    let mut inside: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|e| e == "onnx"))
        .collect();
    inside.sort();
    let first = inside.first()?.display().to_string();
    Some(model("a folder: this is not a regular file").help(format!("name the model in it: {first}")))
}

/// The advice for somebody who gave an artifact as a model or configuration: it lists the commands that take an
/// artifact.
const ARTIFACT: &str = "`strait run`, `strait eval`, `strait verify` and `strait inspect` take it";

/// Reads a configuration as [`config::load`] does, unless the file is really something else.
///
/// # Errors
/// If the file is a model, an array or an artifact, or the configuration has errors.
pub fn load(file: &Path, overrides: &[Override]) -> Result<Loaded, Diagnostics> {
    configuration(file)?;
    config::load(file, overrides)
}

/// Refuses a configuration that is really a model, an array or an artifact. A file that cannot be opened is not refused
/// here, but by the code that reads it later.
///
/// # Errors
/// The error names the format of the file and the command that was probably meant.
fn configuration(file: &Path) -> Result<(), Diagnostics> {
    let name = file.display();
    let refuse = |what: &str, help: &str| {
        let message = format!("{name} is {what}, not a configuration");
        Err(Diagnostic::error(strait_document::codes::FILE, message)
            .help(help)
            .into())
    };
    if file.is_dir() && file.join(MANIFEST_FILE).is_file() {
        return refuse("an artifact", ARTIFACT);
    }
    let Some(bytes) = content(file).filter(|bytes| !bytes.is_empty()) else {
        return Ok(());
    };
    if let Some(kind) = recognised(model::FORMATS, &bytes) {
        let help = format!(
            "name it as one: `strait compile --model {name} --calibration SAMPLES.npy --target generic-int8 \
             --out build/generic-int8`, or write a configuration with `file = \"{name}\"` in [model]"
        );
        return refuse(&format!("a model of {}", kind.name()), &help);
    }
    match format(&bytes) {
        Some(format) => refuse(format.name, &help(format, file)),
        None => match by_name(file) {
            Some(format) => refuse(&format!("{}, by its name", format.name), &help(format, file)),
            None => Ok(()),
        },
    }
}

/// The error for a file that was given as an artifact, if its format is recognized.
pub(crate) fn no_artifact(file: &Path) -> Option<Diagnostic> {
    let name = file.display();
    if !file.is_file() {
        return None;
    }
    let refuse = |what: &str, help: String| {
        let message = format!("{name} is {what}, not an artifact");
        Some(Diagnostic::error(codes::ARTIFACT, message).help(help))
    };
    let bytes = content(file).unwrap_or_default();
    if let Some(kind) = recognised(model::FORMATS, &bytes) {
        let help = format!(
            "compile it first: `strait compile --model {name} --calibration SAMPLES.npy --target generic-int8 --out \
             build/generic-int8`, and name the folder `build/generic-int8`"
        );
        return refuse(&format!("a model of {}", kind.name()), help);
    }
    if file.extension().is_some_and(|extension| extension == "toml") {
        let help = format!("compile it first: `strait compile {name}`, and name the folder that [output] in it says");
        return refuse("a configuration", help);
    }
    let format = format(&bytes)?;
    refuse(format.name, help(format, file))
}

fn content(file: &Path) -> Option<Bytes> {
    strait_mapped::map(file, u64::MAX).ok()
}

fn format(bytes: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.is)(bytes))
}

/// PyTorch's format, if the file has PyTorch's extension. Used for files whose bytes do not tell the format.
fn by_name(file: &Path) -> Option<&'static Format> {
    let extension = file.extension()?.to_str()?;
    let is_torch = ["pt", "pth", "ckpt"].contains(&extension.to_ascii_lowercase().as_str());
    is_torch.then_some(&TORCH)
}

fn help(format: &Format, file: &Path) -> String {
    format.help.replace("{file}", &file.display().to_string())
}

/// How many bytes are missing at the end of a model that was cut off.
fn missing(bytes: &[u8]) -> Option<u64> {
    let found = fields(bytes).last();
    match found {
        Some((_, Value::Cut { missing }))
            if matches!(fields(bytes).next(), Some((1, Value::Number(_)))) || TensorFlow.recognises(bytes) =>
        {
            Some(missing)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
