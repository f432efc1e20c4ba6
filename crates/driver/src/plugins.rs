//! Loads the plugins in shared libraries that configurations and commands name.

use std::{path::Path, sync::Arc};

use strait_plugin_host::{Allowance, Library, Patience, Program, register, sha256, triple};
use strait_target::{Options, Registry, RegistryError, Target};

use crate::{
    config::{
        KeyPath, Loaded,
        types::{Plugin, Unpinned},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::{self, codes},
    session::Session,
};

/// Adds the target of a plugin to the registry. The library has to be pinned by its digest, unless the configuration
/// allows otherwise.
///
/// # Errors
/// If the library has to be pinned and is not, or is refused; if its table is wrong; or if the id is already taken.
pub(crate) fn add(
    loaded: &Loaded,
    plugin: &Plugin,
    path: &KeyPath,
    registry: &mut Registry,
    session: &Session<'_>,
) -> Result<(), Diagnostics> {
    let file: &Path = plugin.path.as_ref();
    let error = |message: String| loaded.error(codes::TARGET, path, message, "");
    if !plugin.required && !file.exists() {
        let message = format!("the plugin {} is not there, and its target is missing", plugin.path);
        session.remark(&Diagnostic::remark(codes::TARGET, message));
        return Ok(());
    }
    let mut pinned = plugin.sha256.as_ref().and_then(|pin| pin.on(&triple()));
    let unpinned = loaded.config.trust.unpinned;
    if pinned.is_none() && unpinned != Unpinned::Allow {
        let found =
            sha256(file).map_err(|found| error(format!("the plugin {}: it cannot be read: {found}", plugin.path)))?;
        let message = format!(
            "the plugin {} is not pinned: its SHA-256 is {found}, and nobody has vouched for that",
            plugin.path
        );
        let help =
            "`strait plugin lock FILE` pins all that the configuration names; `unpinned` in [trust] says otherwise";
        if unpinned == Unpinned::Deny {
            return Err(error(message).help(help).into());
        }
        session.remark(&Diagnostic::warning(codes::TARGET, message).help(help));
        // Only a library with the digest that was just reported is loaded.
        pinned = Some(found);
    }
    let library = load_library(file, pinned.as_deref(), session).map_err(error)?;
    match register(registry, Arc::new(library)) {
        Ok(_) => Ok(()),
        // An error in a table already names the line of the table.
        Err(found @ RegistryError::Table(_)) => Err(failure::registry(&found)),
        Err(found) => Err(error(found.to_string()).into()),
    }
}

/// Loads a plugin and returns its target, with the plugin's model of the target's arithmetic. The library must have the
/// given digest, and the plugin the given id. If `held` is set, a code that this model computes and that differs from
/// the code of the table's form is an error.
pub(crate) fn with_own_model(
    path: &Path,
    pinned: &str,
    (id, options): (&str, &Options),
    (held, session): (bool, &Session<'_>),
) -> Result<Arc<dyn Target>, Diagnostics> {
    let failed = |text: String| Diagnostics::from(Diagnostic::error(codes::TARGET, text));
    let library = load_library(path, Some(pinned), session).map_err(failed)?;
    if !library.description().requantizes {
        return Err(failed(format!(
            "the plugin {} has no model of its target's arithmetic",
            library.description().package
        )));
    }
    if held {
        library.hold();
    }
    let mut registry = Registry::default();
    register(&mut registry, Arc::new(library)).map_err(|error| failure::registry(&error))?;
    registry.get(id, options).map_err(|error| failure::registry(&error))
}

/// Loads a library into a worker, which is another process of this program. The worker may use as much memory as a run
/// may.
fn load_library(path: &Path, pinned: Option<&str>, session: &Session<'_>) -> Result<Library, String> {
    let program = Program::this().map_err(|error| format!("this program does not find itself: {error}"))?;
    let allowance = Allowance::default().with_memory(session.limits.memory);
    Library::load(path, pinned, program.with(allowance), Patience::default()).map_err(|error| error.to_string())
}
