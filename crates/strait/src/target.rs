//! Targets. A target is linked into this program, or consists only of a table, or is a plugin in a shared library.

use std::{fmt, sync::Arc};

use strait_target::{Options, Origin, Registry};

#[cfg(feature = "builtin")]
use strait_builtin as _;

#[cfg(feature = "plugins")]
use {
    crate::Fault,
    std::path::Path,
    strait_core::codes,
    strait_plugin_host::{Library, Patience, Program, register},
};

use crate::Error;

/// What a model is compiled for: a chip, or the arithmetic of a runtime.
///
/// ```
/// # #[cfg(feature = "sima-mla")] {
/// use strait::{OptionValue, Options, Target};
///
/// let target = Target::named("sima")?;
/// assert_eq!(target.id(), "sima");
///
/// let options = Options::from([("requantization_mode".to_owned(), OptionValue::String("tflite".to_owned()))]);
/// let with_other_arithmetic = Target::with_options("sima", &options)?;
///
/// let table = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/targets/acme-npu2.toml"));
/// assert_eq!(Target::from_toml(table)?.id(), "acme-npu2");
/// # }
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone)]
pub struct Target {
    pub(crate) target: Arc<dyn strait_target::Target>,
    pub(crate) origin: Origin,
    pub(crate) options: Options,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// The ids of the targets that are linked into this program. These are the targets that features of this crate enable,
/// and the targets of vendors' crates that the program uses.
///
/// ```
/// # #[cfg(feature = "generic-int8")]
/// assert!(strait::targets()?.contains(&"generic-int8".to_owned()));
/// # Ok::<(), strait::Error>(())
/// ```
///
/// # Errors
/// If the table of a crate is wrong, or two targets have the same id.
pub fn targets() -> Result<Vec<String>, Error> {
    Ok(Registry::builtin()?.entries().map(|(id, _)| id.to_owned()).collect())
}

impl Target {
    /// Returns the target with this id, which must be linked into this program. To link a vendor's crate, write `use
    /// acme_target as _;`.
    ///
    /// # Errors
    /// If no target has this id. The error names the nearest one.
    pub fn named(id: &str) -> Result<Target, Error> {
        Target::with_options(id, &Options::default())
    }

    /// Returns the target with this id, with values for the options that its table declares.
    ///
    /// # Errors
    /// As for [`Target::named`], and if the target does not have an option, or the option cannot have the value.
    pub fn with_options(id: &str, options: &Options) -> Result<Target, Error> {
        Target::of(&Registry::builtin()?, id, options)
    }

    /// Makes a target that consists only of a table in TOML.
    ///
    /// # Errors
    /// If the table is wrong, or needs code.
    #[cfg(feature = "tables")]
    pub fn from_toml(text: &str) -> Result<Target, Error> {
        let table = strait_target::Table::parse("the table", text).map_err(strait_target::RegistryError::from)?;
        let (mut registry, id) = (Registry::default(), table.id().to_owned());
        registry.add_table(Origin::File(table.name().to_owned()), table)?;
        Target::of(&registry, &id, &Options::default())
    }

    /// Loads the target of a plugin in a shared library. The library's code never runs in this process but in a worker
    /// process, which is started from the program at `worker`. The program at `worker` must be `strait`, or a program
    /// whose `main` calls `strait_cli::main`.
    ///
    /// # Errors
    /// If `worker` is `None`, since the program that uses this crate cannot serve as a worker; if the library is
    /// refused; or if the worker does not start.
    ///
    /// ```no_run
    /// # use std::path::Path;
    /// let target = strait::Target::from_library("libacme_target.so", Some(Path::new("/usr/local/bin/strait")))?;
    /// # Ok::<(), strait::Error>(())
    /// ```
    #[cfg(feature = "plugins")]
    pub fn from_library(library: impl AsRef<Path>, worker: Option<&Path>) -> Result<Target, Error> {
        let Some(worker) = worker else {
            let message = "a plugin in a library runs in a worker, and no program is named for it";
            let help = "name the program `strait`, which is a worker too: `cargo install strait-cli`";
            return Err(Error::new(Fault::Call, codes::TARGET, message).help(help));
        };
        let refused = |error: &dyn fmt::Display| Error::new(Fault::Target, codes::TARGET, error);
        let library = Library::load(library.as_ref(), None, Program::at(worker), Patience::default());
        let library = library.map_err(|error| refused(&error))?;
        let mut registry = Registry::default();
        let id = register(&mut registry, Arc::new(library))?.table().id().to_owned();
        Target::of(&registry, &id, &Options::default())
    }

    fn of(registry: &Registry, id: &str, options: &Options) -> Result<Target, Error> {
        Ok(Target {
            target: registry.get(id, options)?,
            origin: registry.entry(id)?.origin().clone(),
            options: options.clone(),
        })
    }

    /// Id of the target.
    pub fn id(&self) -> &str {
        self.target.spec().id.as_str()
    }
}
