//! The configuration of a deployment: a TOML file, and the keys that the command line sets.
//!
//! The types (`types.rs`, `plugins.rs`, `leaf.rs`) are all that there is to say of a single key: parser, checks, JSON schema and
//! reference page are made of them by `strait_document`. Those of `[quantize]` stand with the compiler, which makes settings of
//! them. Keys that have to go together are checked in `consistency.rs`. Where each key was written stays known
//! ([`Loaded::error`]), for those who find with model, data or target what is wrong with it.

mod consistency;
pub mod data;
pub mod evaluation;
pub mod gate;
mod given;
pub mod images;
pub mod leaf;
mod load;
mod loaded;
mod overrides;
pub mod plugins;
pub mod preprocess;
mod reference;
pub mod rewrite;
mod rules;
mod settings;
pub mod types;

pub use given::Given;
pub use load::{load, parse};
pub use loaded::Loaded;
pub use overrides::Override;
pub use reference::reference_page;
pub use strait_document::{Glob, KeyPath, codes};

/// The version of the form of configurations that this version of Strait writes and reads.
pub const SCHEMA: u32 = 1;

/// The placeholder for the target's id in `[output] dir`.
pub const TARGET_PLACEHOLDER: &str = "{target}";

/// The JSON schema of a configuration, as committed in `docs/strait-config-1.schema.json`.
pub fn json_schema() -> serde_json::Value {
    strait_document::json_schema::<types::Config>()
}
