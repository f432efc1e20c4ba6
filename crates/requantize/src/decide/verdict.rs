use serde::{Deserialize, Serialize};

/// Difference of two functions on an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verdict {
    /// They are equal on all of it.
    Exact,
    /// They differ somewhere.
    Bounded {
        /// The largest difference, in units of the result.
        max_lsb: u32,
        /// The smallest accumulator where they differ by that much.
        witness: i64,
        /// The part of the interval's integers where they differ, in (0, 1].
        share: f64,
    },
    /// Nothing is known: results of 32 bits, whose normalised parameters are not the same.
    Unknown,
}

impl Verdict {
    /// True if the functions are equal. What is unknown is not.
    pub fn is_exact(&self) -> bool {
        matches!(self, Verdict::Exact)
    }

    /// The largest difference that can be: zero where they are equal, all of 32 bits where nothing is known.
    pub fn max_lsb(&self) -> u32 {
        match self {
            Verdict::Exact => 0,
            Verdict::Bounded { max_lsb, .. } => *max_lsb,
            Verdict::Unknown => u32::MAX,
        }
    }
}
