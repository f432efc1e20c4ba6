//! What a vendor depends on.
//!
//! A target is a table ([`TargetSpec`]): types, recipes, forms, limits and fusion rows as data. [`Table::parse`] reads one
//! and checks it, [`Table::spec`] gives it with the overlays of some options.

mod error;
mod located;
mod nearest;
pub mod spec;

pub use error::{SpecError, SpecErrors};
pub use located::Located;
pub use spec::{OptionValue, Options, Table, TableError, TargetSpec};
