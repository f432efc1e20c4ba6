//! The four stages of a graph.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of graph this is, which says what the verifier checks and passes may assume. A module moves through the
/// stages only in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Float operators on float values.
    Float,
    /// Float operators, whose operands have quantization configs in the graph's [`crate::QuantTable`].
    Annotated,
    /// Integer primitives on the accelerator. Float operators are only allowed on the host.
    Integer,
    /// A graph that a target passes to a writer. `Foreign` nodes are allowed.
    Export,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 4] = [Stage::Float, Stage::Annotated, Stage::Integer, Stage::Export];

    /// The tag in IR bytes.
    pub fn tag(self) -> u8 {
        match self {
            Stage::Float => 0,
            Stage::Annotated => 1,
            Stage::Integer => 2,
            Stage::Export => 3,
        }
    }

    /// The name in the text form.
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
