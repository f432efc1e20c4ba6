//! The claim that a fused step computes what it replaces, with all that it takes to derive it again.

mod argument;
mod because;
mod digest;
mod floats;
mod text;
mod verdicts;

pub use argument::{Argument, FromFloat};
pub use because::Because;
pub use digest::Digest;
pub use floats::{ordered, unordered};
pub use text::counted;

use crate::{Per, Step, Verdict, decide::DecideError};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Claim of a fusion: on each channel's interval, `after` is equal to the chain `before`, or as far from it as the
/// verdict says. `Display` says it for people: "exact on [−18 231, 20 110]: 255 equal thresholds".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Reason why comparing the two chains is enough.
    pub argument: Argument,
    /// The steps that were there, in the order of their application.
    pub before: Vec<Step>,
    /// The step that replaces them; none where the producer became another: other entries, another quantization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Step>,
    /// Values that can reach the chains, both ends included: accumulators, entries, or [`ordered`] floats.
    pub interval: Per<(i64, i64)>,
    /// From what the interval follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Because>,
    /// Of the argument, both chains, the interval, and the facts and parameters that it follows from; made by who
    /// derives the certificate from a graph. All zeros where nobody did.
    #[serde(default)]
    pub derived_from: Digest,
    /// The outcome; one per channel where steps or intervals are.
    pub verdict: Per<Verdict>,
}

impl Certificate {
    /// Derives the verdict for every channel; see [`of_entries`](Certificate::of_entries) for [`Argument::EveryEntry`].
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

    /// Compares what the chain makes of each entry of a table or a constant with the entry that replaces it: its
    /// channel, the entry, the new one. At least one.
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

    /// The certificate with the reasons for its interval, and the digest of what it was derived from.
    pub fn grounded(self, because: Vec<Because>, derived_from: Digest) -> Self {
        Certificate {
            because,
            derived_from,
            ..self
        }
    }

    /// The verdict of the channel with the largest difference, the first of several.
    pub fn worst(&self) -> &Verdict {
        worst(&self.verdict)
    }
}

fn worst(verdicts: &Per<Verdict>) -> &Verdict {
    let larger = |a: &&Verdict, b: &&Verdict| a.max_lsb().cmp(&b.max_lsb()).then(Ordering::Greater);
    verdicts.values().iter().max_by(larger).unwrap_or(&Verdict::Exact)
}
