//! Targets: what they are, how their tables are read, and where they are registered. Vendors use this crate through the
//! SDK.
//!
//! The table of a target ([`TargetSpec`]) has its types, recipes, forms, limits and fusion rows as data.
//! [`Table::parse`] reads and checks a table. [`Table::spec`] returns the table with the overlays of chosen options. A
//! [`Target`] is a table with kernels for its forms, and with code for what a table cannot say. The [`Registry`] has
//! the targets of the program and those from files.

mod candidate;
pub mod dialect;
mod emitted;
mod factory;
mod guard;
mod registry;
pub mod spec;
mod table_target;
mod target;
pub mod text;

pub use candidate::{Candidate, Operand};
pub use dialect::Dialect;
pub use emitted::{Emitted, MOST_EMITTED_BYTES, MOST_FILE_BYTES};
pub use factory::{Make, TargetFactory};
pub use inventory;
pub use registry::{Entry, LibraryOrigin, Origin, Registry, RegistryError, read_table};
pub use spec::{OptionValue, Options, Table, TableError, TargetSpec};
pub use table_target::{FormKernel, Prepare, TableTarget};
pub use target::{Balanced, Decision, Emission, FusionSite, Joined, Observing, Recorded, Sink, Target, TargetError};
