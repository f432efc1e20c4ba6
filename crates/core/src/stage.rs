//! The four stages of a graph.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The stage of a graph. It decides what the verifier checks and what passes may rely on. The graphs of a module go
/// through the stages only in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The graph has float operators on float values.
    Float,
    /// The graph has float operators, and their operands have quantization configs in the graph's
    /// [`crate::QuantTable`].
    Annotated,
    /// The accelerator runs integer primitives. Float operators are only allowed on the host.
    Integer,
    /// A target has prepared the graph for a writer. `Foreign` nodes are allowed.
    Export,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 4] = [Stage::Float, Stage::Annotated, Stage::Integer, Stage::Export];

    /// The tag of the stage in IR bytes.
    pub fn tag(self) -> u8 {
        match self {
            Stage::Float => 0,
            Stage::Annotated => 1,
            Stage::Integer => 2,
            Stage::Export => 3,
        }
    }

    /// The name of the stage in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Float => "float",
            Stage::Annotated => "annotated",
            Stage::Integer => "integer",
            Stage::Export => "export",
        }
    }

    /// The stage with this name; the inverse of [`Stage::name`].
    pub fn parse(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
