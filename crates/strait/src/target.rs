//! Targets: those of this program, and those that are a table.

use std::sync::Arc;

use strait_target::{Options, Origin, Registry, Table};

#[cfg(feature = "builtin")]
use strait_builtin as _;

use crate::Error;

/// A chip, or the rules of a runtime: what a model is compiled for.
#[derive(Clone)]
pub struct Target {
    pub(crate) target: Arc<dyn strait_target::Target>,
    pub(crate) origin: Origin,
    pub(crate) options: Options,
}

/// The ids of the targets that are linked into this program: those in the box by its features, and those of vendors' crates
/// that it uses.
///
/// # Errors
/// A crate whose table is wrong, or an id that is there twice.
pub fn targets() -> Result<Vec<String>, Error> {
    Ok(Registry::builtin()?.entries().map(|(id, _)| id.to_owned()).collect())
}

impl Target {
    /// The target with this id, which is linked into this program. A vendor's crate is linked by `use acme_target as _;`.
    ///
    /// # Errors
    /// An id that no target has, with the nearest one.
    pub fn named(id: &str) -> Result<Target, Error> {
        Target::with_options(id, &Options::default())
    }

    /// The same with values for the target's own options.
    ///
    /// # Errors
    /// As for [`Target::named`]; options that the target does not have, or values that they cannot have.
    pub fn with_options(id: &str, options: &Options) -> Result<Target, Error> {
        Target::of(&Registry::builtin()?, id, options)
    }

    /// A target that is a table in TOML and nothing else.
    ///
    /// # Errors
    /// A table that is wrong, or that asks for code.
    pub fn from_toml(text: &str) -> Result<Target, Error> {
        let table = Table::parse("the table", text).map_err(strait_target::RegistryError::from)?;
        let (mut registry, id) = (Registry::default(), table.id().to_owned());
        registry.add_table(Origin::File(table.name().to_owned()), table)?;
        Target::of(&registry, &id, &Options::default())
    }

    fn of(registry: &Registry, id: &str, options: &Options) -> Result<Target, Error> {
        Ok(Target {
            target: registry.get(id, options)?,
            origin: registry.entry(id)?.origin().clone(),
            options: options.clone(),
        })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.target.spec().id.as_str()
    }
}
