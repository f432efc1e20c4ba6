//! Pairs of a type of activations and a type of weights that a target can multiply.

use super::words::Integer;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use strait_requantize::IntType;

/// The type of the activations that an op computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Activation {
    /// Real numbers. The layer is weight-only: its weights are dequantized before the op.
    #[serde(rename = "float32")]
    Float32,
    /// Codes.
    #[serde(untagged)]
    Codes(Integer),
}

/// A type of activations and a type of weights that a target multiplies. It is written `[activation, weight]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(from = "(Activation, Integer)", into = "(Activation, Integer)")]
#[cfg_attr(feature = "schema", schemars(with = "(Activation, Integer)"))]
pub struct Pair {
    /// The type of the activations.
    pub activation: Activation,
    /// The type of the weights.
    pub weight: Integer,
}

impl Activation {
    /// The word for real numbers.
    pub const FLOAT32: &'static str = "float32";

    /// The type of the codes; `None` for real numbers.
    pub fn codes(self) -> Option<Integer> {
        match self {
            Activation::Float32 => None,
            Activation::Codes(codes) => Some(codes),
        }
    }

    /// The word for this type in a table.
    pub fn name(self) -> &'static str {
        self.codes().map_or(Activation::FLOAT32, Integer::name)
    }
}

impl Pair {
    /// The type of the activations' codes; `None` for a weight-only pair.
    pub fn codes(self) -> Option<Integer> {
        self.activation.codes()
    }

    /// True if only the weights have codes.
    pub fn is_weight_only(&self) -> bool {
        self.activation == Activation::Float32
    }
}

impl From<(Activation, Integer)> for Pair {
    fn from((activation, weight): (Activation, Integer)) -> Pair {
        Pair { activation, weight }
    }
}

impl From<Pair> for (Activation, Integer) {
    fn from(pair: Pair) -> (Activation, Integer) {
        (pair.activation, pair.weight)
    }
}

impl From<Integer> for Activation {
    fn from(codes: Integer) -> Activation {
        Activation::Codes(codes)
    }
}

impl From<IntType> for Activation {
    fn from(codes: IntType) -> Activation {
        Activation::Codes(codes.into())
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.activation, self.weight)
    }
}
