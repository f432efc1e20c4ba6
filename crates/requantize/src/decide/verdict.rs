use serde::{Deserialize, Serialize};

/// The result of comparing two functions on an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verdict {
    /// The functions are equal on the whole interval.
    Exact,
    /// The functions differ somewhere on the interval.
    Bounded {
        /// The largest difference, in units of the result.
        max_lsb: u32,
        /// The smallest accumulator at which the functions differ by `max_lsb`.
        witness: i64,
        /// The share of the interval's integers at which the functions differ, in (0, 1].
        share: f64,
    },
    /// It is not known whether the functions are equal. This occurs for 32-bit results with different normalised
    /// parameters.
    Unknown,
}

impl Verdict {
    /// True if the functions are known to be equal.
    pub fn is_exact(&self) -> bool {
        matches!(self, Verdict::Exact)
    }

    /// The largest possible difference: 0 if the functions are equal, and `u32::MAX` if nothing is known.
    pub fn max_lsb(&self) -> u32 {
        match self {
            Verdict::Exact => 0,
            Verdict::Bounded { max_lsb, .. } => *max_lsb,
            Verdict::Unknown => u32::MAX,
        }
    }
}
