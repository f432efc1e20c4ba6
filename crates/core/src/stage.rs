//! The four stages of a graph.

use crate::named::named;
use serde::{Deserialize, Serialize};

named! {
    /// The stage of a graph. It decides what the verifier checks and what passes may rely on. A module goes through the
    /// stages in the order of this list. The position of a stage in this list is its tag in IR bytes.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Stage {
        /// The graph has float operators on float values.
        Float = "float",
        /// The graph has float operators, and their operands have quantization configs in the graph's
        /// [`crate::QuantTable`].
        Annotated = "annotated",
        /// The accelerator runs integer primitives. Float operators are only allowed on the host.
        Integer = "integer",
        /// A target has prepared the graph for its file format. `Foreign` nodes are allowed.
        Export = "export",
    }
}

impl Stage {
    /// Returns the tag of the stage in IR bytes.
    pub fn tag(self) -> u8 {
        self as u8
    }
}
