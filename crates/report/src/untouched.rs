//! Layers that an algorithm leaves as they are.

use serde::{Deserialize, Serialize};

/// A layer for which nothing was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UntouchedLayer {
    /// The layer of the canonical model.
    pub layer: String,
    /// Why nothing was chosen.
    pub reason: String,
}
