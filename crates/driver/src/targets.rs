//! The targets that a configuration may use.

use std::{path::Path, sync::Arc};

use strait_container::Digest;
use strait_target::{Options, Origin, Registry, RegistryError, TableError, Target};

use crate::{
    config::{KeyPath, Loaded, types::TableFile},
    diagnostic::Diagnostics,
    dialect::has_word,
    failure::{self, codes},
    plugins,
    session::Session,
};

/// Registers the targets that are built into the program, and those whose tables are in `files`.
///
/// # Errors
/// If a table cannot be read or is wrong, or two targets have the same id.
pub fn registry<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<Registry, Diagnostics> {
    let mut registry = Registry::builtin().map_err(|error| failure::registry(&error))?;
    for file in files {
        registry.add_file(file).map_err(|error| failure::registry(&error))?;
    }
    Ok(registry)
}

/// Returns the targets that the configuration compiles for, in the order in which the configuration names them. A
/// target comes from `registry` or from a file that the configuration names.
///
/// # Errors
/// If the configuration names a target that is not registered, or sets options for such a target. The error names the
/// nearest id. Also if the configuration sets an option that a target does not have, or sets it to a value that is not
/// allowed.
pub(crate) fn chosen(
    loaded: &Loaded,
    mut registry: Registry,
    session: &Session<'_>,
) -> Result<Vec<(Arc<dyn Target>, Origin)>, Diagnostics> {
    let config = &loaded.config.target;
    for (index, plugin) in loaded.config.plugin.iter().enumerate() {
        let path = KeyPath::of(&["plugin"]).index(index);
        plugins::add(loaded, plugin, &path, &mut registry, session)?;
    }
    for (index, file) in config.file.iter().enumerate() {
        let path = KeyPath::of(&["target", "file"]).index(index);
        table(loaded, file, &path, &mut registry)?;
    }
    let unknown = |path: &KeyPath, id: &str, help: &str| {
        let message = format!("there is no target `{id}`");
        Diagnostics::from(loaded.error(codes::TARGET, path, message, "not registered").help(help))
    };
    let of_options = config
        .options
        .keys()
        .map(|id| (KeyPath::of(&["target", "options", id]), id));
    let of_output = loaded.config.output.target.keys();
    let of_output = of_output.map(|id| (KeyPath::of(&["output", "target", id]), id));
    let of_rules = (loaded.config.quantize.rule.iter().enumerate()).flat_map(|(index, rule)| {
        let path = KeyPath::of(&["quantize", "rule"]).index(index).key("target");
        (rule.target.iter().enumerate()).map(move |(position, id)| (path.clone().index(position), id))
    });
    for (path, id) in of_options.chain(of_output).chain(of_rules) {
        if let Err(RegistryError::Unknown { help, .. }) = registry.entry(id) {
            return Err(unknown(&path, id, &help));
        }
    }
    let mut found = Vec::new();
    for (position, id) in config.ids.iter().enumerate() {
        let given = config.plain(id, |name| !has_word(&registry, id, name));
        let given = given.map_err(|option| {
            let path = KeyPath::of(&["target", "options", id, &option]);
            let message = format!("`{path}` is no boolean, integer or string, and no word of the target `{id}`");
            loaded.error(codes::TARGET, &path, message, "")
        })?;
        let given = with_implied(loaded, &registry, id, given);
        let target = registry.get(id, &given).map_err(|error| match &error {
            RegistryError::Unknown { help, .. } => unknown(&KeyPath::of(&["target", "use"]).index(position), id, help),
            RegistryError::Table(TableError::Option { option, message, .. }) => {
                let path = KeyPath::of(&["target", "options", id, option]);
                let message = format!("option `{option}` of the target `{id}`: {message}");
                loaded.error(codes::TARGET, &path, message, "").into()
            }
            other => failure::registry(other),
        })?;
        let entry = registry.entry(id).map_err(|error| failure::registry(&error))?;
        found.push((target, entry.origin().clone()));
    }
    Ok(found)
}

/// Adds to `given` the options that a format in the configuration needs, except those that the configuration sets
/// itself.
fn with_implied(loaded: &Loaded, registry: &Registry, id: &str, mut given: Options) -> Options {
    let asked = loaded.config.output.formats_of(id);
    let Some(spec) = registry
        .entry(id)
        .ok()
        .and_then(|entry| entry.table().spec(&given).ok())
    else {
        return given;
    };
    let asked = asked.iter().flat_map(|(_, formats)| *formats);
    for &format in asked.filter(|format| !spec.formats().contains(format)) {
        if let Some((option, value)) = spec.option_for(format) {
            given.entry(option.to_owned()).or_insert(value);
        }
    }
    given
}

/// Reads a table from a file and adds its target to the registry. The digest is computed from the text that was read,
/// so that the file cannot be replaced between reading the table and computing the digest.
fn table(loaded: &Loaded, file: &TableFile, path: &KeyPath, registry: &mut Registry) -> Result<(), Diagnostics> {
    let error = |message: String| Diagnostics::from(loaded.error(codes::TARGET, path, message, ""));
    let entry = registry.add_file(file.path().as_ref()).map_err(|found| match &found {
        // An error in a table already names the line of the table.
        RegistryError::Table(_) => failure::registry(&found),
        _ => error(found.to_string()),
    })?;
    let found = Digest(entry.table().digest()).to_string();
    match file.sha256() {
        Some(pinned) if pinned != found => Err(error(format!(
            "{}: its SHA-256 is {found}, and {pinned} is pinned",
            file.path()
        ))),
        _ => Ok(()),
    }
}
