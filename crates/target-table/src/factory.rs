//! The entry by which a target's crate registers the target.

use crate::dialect::Dialect;
use crate::table_target::{FormKernel, TableTarget};
use crate::target::{Target, TargetError};
use std::sync::Arc;

/// The entry that the crate of a target submits to the registry:
///
/// ```
/// use strait_target::{FormKernel, TargetFactory, inventory};
///
/// inventory::submit! {
///     TargetFactory::new(
///         concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
///         "schema = 2 # include_str!(\"../target.toml\")",
///     )
///     .kernels(&[FormKernel::host("scale31")])
/// }
/// ```
#[derive(Clone, Copy)]
pub struct TargetFactory {
    pub(crate) origin: &'static str,
    pub(crate) table: &'static str,
    pub(crate) kernels: &'static [FormKernel],
    pub(crate) make: Option<&'static Make>,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) is_tested: bool,
}

/// The type of functions that make a target with code. The argument is a target that has only the table and the
/// kernels. The function may have state of its own, may read the values of the options
/// ([`TargetSpec::chosen`](crate::TargetSpec::chosen)), and may fail.
pub type Make = dyn Fn(TableTarget) -> Result<Arc<dyn Target>, TargetError> + Send + Sync;

impl TargetFactory {
    /// Makes a factory for a target with this table. `origin` is the name and the version of the package, which errors
    /// about the table mention.
    pub const fn new(origin: &'static str, table: &'static str) -> TargetFactory {
        TargetFactory {
            origin,
            table,
            kernels: &[],
            make: None,
            dialect: None,
            is_tested: false,
        }
    }

    /// Name and version of the package that the target comes from.
    pub const fn origin(&self) -> &'static str {
        self.origin
    }

    /// The text of the table.
    pub const fn table(&self) -> &'static str {
        self.table
    }

    /// True if code of the crate makes the target ([`TargetFactory::code`]).
    pub const fn has_code(&self) -> bool {
        self.make.is_some()
    }

    /// True if the target has a kernel of its own for at least one of its forms.
    pub const fn has_kernels(&self) -> bool {
        let mut at = 0;
        while at < self.kernels.len() {
            if self.kernels[at].own.is_some() {
                return true;
            }
            at += 1;
        }
        false
    }

    /// Adds kernels, one for each form of the table.
    pub const fn kernels(self, kernels: &'static [FormKernel]) -> TargetFactory {
        TargetFactory { kernels, ..self }
    }

    /// Adds code for what a table cannot express.
    pub const fn code(self, make: &'static Make) -> TargetFactory {
        TargetFactory {
            make: Some(make),
            ..self
        }
    }

    /// States that a test of the crate calls [`Registry::add`](crate::Registry::add), which checks the table with each of its
    /// overlays, and that the kernels are those of its forms. Programs that the crate is linked into then do not check this again:
    /// it would take most of the time that a short command needs. An overlay is still checked when an option chooses it.
    pub const fn tested(self) -> TargetFactory {
        TargetFactory {
            is_tested: true,
            ..self
        }
    }

    /// Adds the settings of the vendor's own tool, which configurations may use. No setting may have the name of an
    /// option of the table.
    pub const fn dialect(self, dialect: Dialect) -> TargetFactory {
        TargetFactory {
            dialect: Some(dialect),
            ..self
        }
    }
}

inventory::collect!(TargetFactory);
