//! The configuration of a deployment: a TOML file, and what the command line says about single keys.
//!
//! from them. Loading goes
//!
//! ```text
//! file ─▶ tree ◀─ overrides            every key knows where it was written     tree.rs, overrides.rs
//!          │ check against the schema  all findings at once; paths resolved     schema.rs, check.rs
//!          │ deserialize               the types                                types.rs, leaf.rs
//!          ▼ check of keys together                                             consistency.rs, preprocess.rs
//!        Loaded                        the types, and the tree as an index from keys to places
//! ```

mod check;
pub mod codes;
mod consistency;
pub mod glob;
pub mod leaf;
mod load;
mod overrides;
pub mod preprocess;
mod reference;
pub mod rule;
mod schema;
mod settings;
mod tree;
pub mod types;

pub use load::{Loaded, load, parse};
pub use overrides::Override;
pub use reference::reference_page;
pub use schema::json_schema;
pub use tree::KeyPath;

/// The version of the form of configurations that this version of Strait writes and reads.
pub const SCHEMA: u32 = 1;

/// Stands for the id of the target in `[output] dir`.
pub const TARGET_PLACEHOLDER: &str = "{target}";
