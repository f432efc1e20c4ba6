//! `strait plugin lock`: writes the digests of plugins into the configuration that names them.

use std::path::Path;

use strait_container::Beside;
use strait_plugin_host::{sha256, triple};
use toml_edit::{DocumentMut, Item, TableLike, Value, value};

use crate::{diagnostic::Diagnostic, failure::codes, recognise, stop::Stop};

/// A file whose digest was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Path of the file as the configuration names it.
    pub path: String,
    /// SHA-256 digest of the file.
    pub sha256: String,
}

/// Writes into a configuration the digest of each plugin that it names, and of each table that it names as `{ path =
/// ... }`. The rest of the configuration's text stays as it is.
///
/// # Errors
/// If the configuration is wrong or cannot be written, or a file cannot be read.
pub fn lock(file: &Path) -> Result<Vec<Locked>, Stop> {
    // Loading reports everything that is wrong with the configuration.
    recognise::load(file, &[])?;
    let failed = |text: String| Stop::from(Diagnostic::error(codes::TARGET, text));
    let text = std::fs::read_to_string(file).map_err(|error| failed(format!("{}: {error}", file.display())))?;
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| Stop::Defect(format!("read and parsed, but {error}")))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut locked = Vec::new();
    for entry in tables(document.get_mut("plugin")) {
        locked.extend(pin(entry, folder).map_err(failed)?);
    }
    let target = document.get_mut("target").and_then(Item::as_table_like_mut);
    for entry in tables(target.and_then(|target| target.get_mut("file"))) {
        locked.extend(pin(entry, folder).map_err(failed)?);
    }
    // The new text keeps the line ends that the file had.
    let mut written = document.to_string();
    if text.contains("\r\n") {
        written = written.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    replace_file(file, &written).map_err(|error| failed(format!("{}: {error}", file.display())))?;
    Ok(locked)
}

/// Replaces the text of a file in one step, so that no other program reads a half-written file. If the path is a
/// symbolic link, the file that it points to is replaced. Permissions are kept.
fn replace_file(file: &Path, text: &str) -> std::io::Result<()> {
    let file = std::fs::canonicalize(file)?;
    let beside = Beside::new(file.parent().unwrap_or(Path::new("")), ".toml")?;
    std::fs::write(beside.path(), text)?;
    std::fs::set_permissions(beside.path(), std::fs::metadata(&file)?.permissions())?;
    beside.put_in_place(&file)
}

/// Returns the tables of a list, which may be written in TOML as `[[name]]` or as `name = [{ ... }]`.
fn tables(list: Option<&mut Item>) -> Vec<&mut dyn TableLike> {
    match list {
        Some(Item::ArrayOfTables(list)) => list.iter_mut().map(|table| table as &mut dyn TableLike).collect(),
        Some(Item::Value(Value::Array(list))) => {
            let tables = list.iter_mut().filter_map(Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        _ => Vec::new(),
    }
}

/// Writes the digest of the file that `entry` names. Nothing is written if the file does not exist and the entry allows
/// this.
fn pin(entry: &mut dyn TableLike, folder: &Path) -> Result<Option<Locked>, String> {
    let Some(path) = entry.get("path").and_then(Item::as_str).map(str::to_owned) else {
        return Ok(None);
    };
    let file = folder.join(&path);
    let optional = entry.get("required").and_then(Item::as_bool) == Some(false);
    if optional && !file.exists() {
        return Ok(None);
    }
    let digest = sha256(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    match entry.get_mut("sha256").and_then(Item::as_table_like_mut) {
        Some(each) => {
            each.insert(&triple(), value(&digest));
        }
        None => replace(entry, &digest),
    }
    Ok(Some(Locked { path, sha256: digest }))
}

/// Replaces the digest in `entry`. Comments and spaces around the old digest stay.
fn replace(entry: &mut dyn TableLike, digest: &str) {
    match entry.get_mut("sha256") {
        Some(Item::Value(before)) => {
            let decor = before.decor().clone();
            *before = Value::from(digest);
            *before.decor_mut() = decor;
        }
        _ => {
            entry.insert("sha256", value(digest));
        }
    }
}
