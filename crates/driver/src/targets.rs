//! The targets that a configuration may use.

use std::{path::Path, sync::Arc};

use strait_execute::{LoopsFor, StepError};
use strait_kernels::integer::Loops;
use strait_requantize::Requantization;
use strait_target::{Registry, RegistryError, TableError, Target};

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

/// The targets of the binary, and those whose tables are in `files`.
///
/// # Errors
/// A table that cannot be read or is wrong, an id that is there twice.
pub fn registry<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<Registry, Diagnostics> {
    let mut registry = Registry::builtin().map_err(|error| finding(&error))?;
    for file in files {
        registry.add_file(file).map_err(|error| finding(&error))?;
    }
    Ok(registry)
}

/// The targets that the configuration compiles for, in its order: from `registry`, or from its own files.
///
/// # Errors
/// A target that is not registered, also where only options are given for it, with the nearest id; an option that a
/// target does not have or cannot have.
pub(crate) fn chosen(loaded: &Loaded, mut registry: Registry) -> Result<Vec<Arc<dyn Target>>, Diagnostics> {
    let config = &loaded.config.target;
    for (index, file) in config.file.iter().enumerate() {
        if let Err(error) = registry.add_file(file.as_ref()) {
            let path = KeyPath::of(&["target", "file"]).index(index);
            return Err(match &error {
                // The table itself has the line.
                RegistryError::Table(_) => finding(&error),
                _ => loaded.error(codes::TARGET, &path, error.to_string(), "").into(),
            });
        }
    }
    for id in config.options.keys() {
        if let Err(RegistryError::Unknown { help, .. }) = registry.entry(id) {
            let path = KeyPath::of(&["target", "options", id]);
            let finding = loaded.error(
                codes::TARGET,
                &path,
                format!("there is no target `{id}`"),
                "not registered",
            );
            return Err(finding.help(help).into());
        }
    }
    let mut found = Vec::new();
    for (position, id) in config.ids.iter().enumerate() {
        let given = config.options.get(id).cloned().unwrap_or_default();
        let target = registry.get(id, &given).map_err(|error| match &error {
            RegistryError::Unknown { help, .. } => {
                let path = KeyPath::of(&["target", "use"]).index(position);
                let message = format!("there is no target `{id}`");
                Diagnostics::from(
                    loaded
                        .error(codes::TARGET, &path, message, "not registered")
                        .help(help.clone()),
                )
            }
            RegistryError::Table(TableError::Option { option, message, .. }) => {
                let path = KeyPath::of(&["target", "options", id, option]);
                loaded
                    .error(
                        codes::TARGET,
                        &path,
                        format!("option `{option}` of the target `{id}`: {message}"),
                        "",
                    )
                    .into()
            }
            other => finding(other),
        })?;
        found.push(target);
    }
    Ok(found)
}

/// Findings for an error of the registry, with the place in the table where the error names one.
pub fn finding(error: &RegistryError) -> Diagnostics {
    match error {
        RegistryError::Table(TableError::Table(findings)) => findings.clone(),
        other => Diagnostic::error(codes::TARGET, other.to_string()).into(),
    }
}

/// A target's loops, as the executor asks for them.
#[derive(Clone)]
pub struct TargetLoops(pub Arc<dyn Target>);

impl LoopsFor for TargetLoops {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        self.0
            .loops(form, clamp)
            .map_err(|error| StepError::Target(error.to_string()))
    }
}
