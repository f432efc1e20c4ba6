//! Certificates. A certificate claims that a fused step computes the same as the steps that it replaces. The
//! certificate contains everything that is needed to derive this claim again.

mod argument;
mod because;
mod digest;
mod floats;
mod numbers;
mod text;
mod verdicts;

pub use crate::certificate::numbers::counted;
pub use argument::{Argument, FromFloat};
pub use because::Because;
pub use digest::Digest;
pub use floats::{ordered, unordered};

use crate::{Per, Step, Verdict, decide::DecideError};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The claim that a fusion makes: on the interval of each channel, the results of the step `after` are equal to those
/// of the chain `before`, or differ from them as the verdict says. `Display` writes the certificate as text: "exact on
/// [−18 231, 20 110]: 255 equal thresholds".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The reason why comparing the two chains is enough.
    pub argument: Argument,
    /// The original steps, in the order in which they were applied.
    pub before: Vec<Step>,
    /// The step that replaces the original steps. `None` if the fusion changed the producer instead: the entries of its
    /// table or constant, or its quantization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Step>,
    /// The numbers that can enter the chains, both ends of the interval included: accumulators, the entries of a table,
    /// or [`ordered`] floats.
    pub interval: Per<(i64, i64)>,
    /// The facts from which the interval was derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Because>,
    /// A digest of everything that the certificate was derived from: the argument, both chains, the interval, and the
    /// facts and parameters from which the interval follows. It is all zeros if the certificate was not derived from a
    /// graph.
    #[serde(default)]
    pub derived_from: Digest,
    /// The outcome of the comparison. There is one for each channel if the steps or the intervals have channels.
    pub verdict: Per<Verdict>,
}

impl Certificate {
    /// Derives the verdict for every channel. For [`Argument::EveryEntry`] see [`of_entries`](Certificate::of_entries).
    pub fn derive(
        argument: Argument,
        before: Vec<Step>,
        after: Option<Step>,
        interval: Per<(i64, i64)>,
    ) -> Result<Self, DecideError> {
        let verdict = verdicts::verdicts(&argument, &before, after.as_ref(), &interval)?;
        Ok(Certificate {
            argument,
            before,
            after,
            interval,
            because: Vec::new(),
            derived_from: Digest::default(),
            verdict,
        })
    }

    /// Applies the chain to each old entry of a table or constant, and compares the result with the new entry. Each
    /// item of `entries` consists of a channel, the old entry and the new entry. There must be at least one item.
    pub fn of_entries(
        before: Vec<Step>,
        entries: impl IntoIterator<Item = (usize, i64, i64)>,
    ) -> Result<Self, DecideError> {
        let (count, interval, verdict) = verdicts::of_entries(&before, entries)?;
        Ok(Certificate {
            argument: Argument::EveryEntry { entries: count },
            before,
            after: None,
            interval: interval.into(),
            because: vec![Because::Entries],
            derived_from: Digest::default(),
            verdict: verdict.into(),
        })
    }

    /// Adds the facts behind the interval, and the digest of everything that the certificate was derived from.
    pub fn grounded(self, because: Vec<Because>, derived_from: Digest) -> Self {
        Certificate {
            because,
            derived_from,
            ..self
        }
    }

    /// Returns the verdict with the largest difference. If several channels have the same largest difference, returns
    /// the verdict of the first of them.
    pub fn worst(&self) -> &Verdict {
        worst(&self.verdict)
    }
}

fn worst(verdicts: &Per<Verdict>) -> &Verdict {
    let larger = |a: &&Verdict, b: &&Verdict| a.max_lsb().cmp(&b.max_lsb()).then(Ordering::Greater);
    verdicts.values().iter().max_by(larger).unwrap_or(&Verdict::Exact)
}
