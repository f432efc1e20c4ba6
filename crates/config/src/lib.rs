//! The configuration of a deployment: a TOML file, and the keys that the command line sets.
//!
//! The types in `types.rs`, `plugins.rs` and `leaf.rs` define the keys. From these types, `strait_document` makes the
//! parser, the checks of single keys, the JSON schema and the reference page. The types for `[quantize]` are in the
//! compiler, which converts them to settings. `consistency.rs` checks combinations of keys. The place where each key
//! was written is kept. So even an error that is only found with the model, the data or the target can show this place
//! ([`Loaded::error`]).

mod advice;
mod axes;
mod consistency;
pub mod data;
pub mod device;
pub mod effective;
pub mod evaluation;
pub mod gate;
mod given;
pub mod goals;
pub mod images;
pub mod leaf;
mod load;
mod loaded;
pub mod optimize;
pub mod output;
mod overrides;
mod params;
pub mod plugins;
pub mod precision;
pub mod preprocess;
mod reference;
mod refused;
pub mod rewrite;
mod rules;
mod settings;
pub mod types;

pub use given::Given;
pub use load::{load, parse};
pub use loaded::Loaded;
pub use overrides::Override;
pub use params::{GivenParams, MOST_PARAMS_BYTES, Params, Says};
pub use reference::reference_page;
pub use strait_document::{Glob, KeyPath, codes};

/// The schema version of configurations that this version of Strait reads and writes.
pub const SCHEMA: u32 = 1;

/// The placeholder in `[output] dir` that stands for the target's id.
pub const TARGET_PLACEHOLDER: &str = "{target}";

/// The JSON schema of a configuration. It is committed as `docs/strait-config-1.schema.json`.
pub fn json_schema() -> serde_json::Value {
    strait_document::json_schema::<types::Config>()
}
