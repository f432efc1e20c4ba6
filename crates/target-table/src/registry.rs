//! The registry of all targets that a program can use.

use crate::dialect::Dialect;
use crate::factory::{Make, TargetFactory};
use crate::guard::{Guarded, Vendor, caught};
use crate::spec::{MAX_TABLE_BYTES, Options, Table, TableError};
use crate::table_target::{FormKernel, Kernel, TableTarget};
use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::{fmt, path::Path, sync::Arc};
use strait_document::diagnostic::SourceText;
use strait_document::{Diagnostics, nearest};

/// Where a target comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A package that is part of the binary.
    BuiltIn(String),
    /// A table in a file.
    File(String),
    /// A plugin in a shared library.
    Library(Box<LibraryOrigin>),
}

/// A shared library as the origin of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryOrigin {
    /// Name and version of the package, as the library states them.
    pub package: String,
    /// Path of the library.
    pub path: String,
    /// SHA-256 of the file, as hexadecimal digits.
    pub sha256: String,
    /// Major and minor version of the interface that the library is built for.
    pub interface: [u32; 2],
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn(package) => write!(f, "{package} (built in)"),
            Origin::File(path) => f.write_str(path),
            Origin::Library(library) => write!(f, "{} ({})", library.package, library.path),
        }
    }
}

/// A target that is registered.
pub struct Entry {
    origin: Origin,
    table: Table,
    kernels: BTreeMap<String, Kernel>,
    code: Code,
    dialect: Option<Dialect>,
}

/// The code that a target has besides its table and its kernels.
enum Code {
    /// The target has no further code.
    None,
    /// Code of a crate that is linked into the program.
    Linked(&'static Make),
    /// Code of a library, which also decides which forms its own loops compute ([`Target::own_loops`]). The flag is
    /// true if the library writes files.
    Library(Arc<Make>, bool),
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("origin", &self.origin)
            .field("id", &self.table.id())
            .finish_non_exhaustive()
    }
}

impl Entry {
    /// Where the target comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The table of the target.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The settings of the vendor's own tool, if the target understands them.
    pub fn dialect(&self) -> Option<&Dialect> {
        self.dialect.as_ref()
    }

    /// True if the target has kernels of its own or any other code.
    pub fn has_code(&self) -> bool {
        !matches!(self.code, Code::None) || self.kernels.values().any(Option::is_some)
    }

    /// Makes the target with these values of its options. An option that is absent has its default.
    ///
    /// # Errors
    /// [`TableError::Option`] for an option that the target does not have, or a value that it cannot have;
    /// [`RegistryError::Code`] if the target's code cannot make the target.
    pub fn target(&self, options: &Options) -> Result<Arc<dyn Target>, RegistryError> {
        let target = self.unguarded(options)?;
        let own = self.kernels.iter().filter(|(_, kernel)| kernel.is_some());
        let own: BTreeSet<String> = own.map(|(form, _)| form.clone()).collect();
        Ok(match &self.code {
            Code::Linked(_) => Arc::new(Guarded::new(target, Vendor::All)),
            Code::None if !own.is_empty() => Arc::new(Guarded::new(target, Vendor::Forms(own))),
            Code::None | Code::Library(..) => target,
        })
    }

    /// Makes the target without the wrapper that compares its results with the table. This is for the process in which
    /// a library runs. The host's process makes the comparison.
    ///
    /// # Errors
    /// As for [`Entry::target`].
    pub fn unguarded(&self, options: &Options) -> Result<Arc<dyn Target>, RegistryError> {
        let target = TableTarget::new(self.table.spec(options)?, self.kernels.clone());
        match &self.code {
            Code::Linked(make) => self.made(*make, target),
            Code::Library(make, _) => self.made(make.as_ref(), target),
            Code::None => Ok(Arc::new(target)),
        }
    }

    /// True if the target's own code computes, or may compute, the form of this name. False if the host computes it.
    pub fn computes(&self, form: &str) -> bool {
        let own = matches!(self.kernels.get(form), Some(Some(_)));
        own || (matches!(self.code, Code::Linked(_)) && self.kernels.contains_key(form))
    }

    /// Calls the code that makes the target.
    fn made(&self, make: &Make, target: TableTarget) -> Result<Arc<dyn Target>, RegistryError> {
        let made = caught(|| make(target).map_err(|error| error.to_string()));
        let made = made.unwrap_or_else(|message| Err(format!("it panicked: {message}")));
        made.map_err(|message| RegistryError::Code {
            id: self.table.id().into(),
            origin: self.origin.clone(),
            message,
        })
    }
}

/// The targets, by id. The registry is not global: the driver makes it and passes it on.
#[derive(Debug, Default)]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
}

/// Why a target is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A table or an option is wrong. The author of the table or of the configuration is at fault.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Two targets have the same id.
    #[error("target `{id}` comes from {first} and from {second}")]
    Duplicate {
        /// The id that both targets have.
        id: String,
        /// Where the first of the two targets comes from.
        first: Origin,
        /// Where the second of the two targets comes from.
        second: Origin,
    },
    /// The table and the kernels do not fit together. The target's crate is at fault.
    #[error("{origin}: {message}")]
    Kernels {
        /// Where the target comes from.
        origin: Origin,
        /// Names the form that has no kernel, or the kernel that has no form.
        message: String,
    },
    /// The target's code cannot make the target. The target's crate or the values of the options are at fault.
    #[error("target `{id}` of {origin}: its code cannot make it: {message}")]
    Code {
        /// Id of the target.
        id: String,
        /// Where the target comes from.
        origin: Origin,
        /// The message of the error or of the panic.
        message: String,
    },
    /// No target has this id. The configuration is at fault.
    #[error("target `{id}` is not registered; {help}")]
    Unknown {
        /// The id that was asked for.
        id: String,
        /// Advice that names the id that was probably meant, or all ids.
        help: String,
    },
    /// The file of a table cannot be read.
    #[error("cannot read {path}: {message}")]
    File {
        /// Path of the file.
        path: String,
        /// Why the file cannot be read.
        message: String,
    },
}

impl From<Diagnostics> for RegistryError {
    fn from(errors: Diagnostics) -> RegistryError {
        TableError::from(errors).into()
    }
}

impl Registry {
    /// The targets whose crates are linked into this binary. They are sorted by id, since the order of linking has no
    /// meaning.
    ///
    /// # Errors
    /// If a table has errors, a form has no kernel, or two targets have the same id.
    pub fn builtin() -> Result<Registry, RegistryError> {
        let mut registry = Registry::default();
        let mut factories: Vec<&TargetFactory> = inventory::iter::<TargetFactory>.into_iter().collect();
        factories.sort_by_key(|f| (f.origin, f.table));
        for factory in factories {
            registry.add_linked(factory, factory.is_tested)?;
        }
        Ok(registry)
    }

    /// Adds a target that comes from a crate, and checks all of its table, also if the crate's tests do
    /// ([`TargetFactory::tested`]).
    ///
    /// # Errors
    /// As for [`Registry::builtin`].
    pub fn add(&mut self, factory: &TargetFactory) -> Result<(), RegistryError> {
        self.add_linked(factory, false)
    }

    fn add_linked(&mut self, factory: &TargetFactory, is_tested: bool) -> Result<(), RegistryError> {
        let origin = Origin::BuiltIn(factory.origin.into());
        let own = factory.kernels.iter();
        let (table, kernels) = if is_tested {
            let kernels = own.map(|kernel| (kernel.form.to_owned(), kernel.own)).collect();
            (Table::tested(factory.origin, factory.table)?, kernels)
        } else {
            let table = Table::parse(factory.origin, factory.table)?;
            let kernels = fitting(table.forms(), factory.kernels).map_err(|message| RegistryError::Kernels {
                origin: origin.clone(),
                message,
            })?;
            (table, kernels)
        };
        self.insert(Entry {
            origin,
            table,
            kernels,
            code: factory.make.map_or(Code::None, Code::Linked),
            dialect: factory.dialect,
        })
    }

    /// Adds a target that is a table in a file. The host's kernels compute its forms.
    ///
    /// # Errors
    /// If the file cannot be read, the table has errors, or another target has the same id.
    pub fn add_file(&mut self, path: &Path) -> Result<&Entry, RegistryError> {
        let table = read_table(path)?;
        self.add_table(Origin::File(table.name().to_owned()), table)
    }

    /// Adds a target that is only a table. The host's kernels compute its forms.
    ///
    /// # Errors
    /// If another target has the same id, or the table needs code.
    pub fn add_table(&mut self, origin: Origin, table: Table) -> Result<&Entry, RegistryError> {
        self.add_on_host(origin, table, Code::None)
    }

    /// Adds a target whose table and code come from a library. The host's kernels compute its forms, and `make` makes
    /// the target. If `emits` is true, the target writes a package.
    ///
    /// # Errors
    /// If the table has errors or needs code that the library does not have, or if another target has the same id.
    pub fn add_library(
        &mut self,
        origin: Origin,
        table: String,
        emits: bool,
        make: Arc<Make>,
    ) -> Result<&Entry, RegistryError> {
        let table = Table::parse(origin.to_string(), table)?;
        self.add_on_host(origin, table, Code::Library(make, emits))
    }

    /// Adds a target whose forms the host's kernels compute.
    fn add_on_host(&mut self, origin: Origin, table: Table, code: Code) -> Result<&Entry, RegistryError> {
        let kernels = table.forms().iter().map(|form| (form.clone(), None)).collect();
        let id = table.id().to_owned();
        self.insert(Entry {
            origin,
            table,
            kernels,
            code,
            dialect: None,
        })?;
        self.entry(&id)
    }

    fn insert(&mut self, entry: Entry) -> Result<(), RegistryError> {
        let id = entry.table.id().to_owned();
        if let Some(first) = self.entries.get(&id) {
            return Err(RegistryError::Duplicate {
                id,
                first: first.origin.clone(),
                second: entry.origin,
            });
        }
        match entry.code {
            Code::Linked(_) => {}
            Code::None => entry.table.without_code(false)?,
            Code::Library(_, emits) => entry.table.without_code(emits)?,
        }
        self.entries.insert(id, entry);
        Ok(())
    }

    /// The registered targets with their ids, in the order of the ids.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(id, entry)| (id.as_str(), entry))
    }

    /// The registered target with this id.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`], with the nearest id.
    pub fn entry(&self, id: &str) -> Result<&Entry, RegistryError> {
        self.entries.get(id).ok_or_else(|| {
            let help = match self.entries.len() {
                0 => "no target is".to_owned(),
                _ => nearest::help(id, self.entries.keys().map(String::as_str)),
            };
            RegistryError::Unknown { id: id.into(), help }
        })
    }

    /// Makes the target with this id, with these values of its options.
    ///
    /// # Errors
    /// As for [`Registry::entry`] and [`Entry::target`].
    pub fn get(&self, id: &str, options: &Options) -> Result<Arc<dyn Target>, RegistryError> {
        self.entry(id)?.target(options)
    }
}

/// Returns the kernels by form.
///
/// # Errors
/// If a form has no kernel or two, or if a kernel is for a form that there is not.
fn fitting(forms: &BTreeSet<String>, own: &[FormKernel]) -> Result<BTreeMap<String, Kernel>, String> {
    let mut kernels = BTreeMap::new();
    for kernel in own {
        if !forms.contains(kernel.form) {
            let help = nearest::help(kernel.form, forms.iter().map(String::as_str));
            return Err(format!(
                "a kernel for the form `{}`, which its table does not have; {help}",
                kernel.form
            ));
        }
        if kernels.insert(kernel.form.to_owned(), kernel.own).is_some() {
            return Err(format!("two kernels for the form `{}`", kernel.form));
        }
    }
    match forms.iter().find(|form| !kernels.contains_key(*form)) {
        None => Ok(kernels),
        Some(form) => Err(format!(
            "no kernel for the form `{form}` of its table; name one in `kernels`, or `FormKernel::host` for the host's"
        )),
    }
}

/// Reads the table in a file. Tables that it extends are read from the same folder.
///
/// # Errors
/// If a file cannot be read or a table has errors.
pub fn read_table(path: &Path) -> Result<Table, RegistryError> {
    let own = text(path).map_err(|message| RegistryError::File {
        path: path.display().to_string(),
        message,
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(Table::checked(own, &|file| {
        text(&folder.join(file)).map_err(|message| format!("cannot read `{file}`: {message}"))
    })?)
}

fn text(path: &Path) -> Result<Arc<SourceText>, String> {
    let bytes = strait_mapped::read(path, MAX_TABLE_BYTES as u64).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text")?;
    let name = path.display().to_string();
    Ok(Arc::new(SourceText { name, text }))
}
