use crate::{
    Per, Step, Verdict,
    decide::{DecideError, verdicts},
};
use serde::{Deserialize, Serialize};

/// What a fusion claims, with all that it takes to derive it again: on each channel's interval of accumulators, `after`
/// is equal to the chain `before`, or as far from it as the verdict says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The steps that were there, in the order of their application.
    pub before: Vec<Step>,
    /// The step that replaces them.
    pub after: Step,
    /// The accumulators that can occur, both ends included.
    pub interval: Per<(i64, i64)>,
    /// The outcome; one per channel where steps or intervals are.
    pub verdict: Per<Verdict>,
}

/// Why a certificate is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CertificateError {
    /// It cannot be derived at all.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// It claims one thing and the derivation yields another.
    #[error("channel {channel}: the certificate claims {claimed:?}, the derivation yields {derived:?}")]
    Differs {
        /// The first such channel.
        channel: usize,
        /// The certificate's verdict, if it has one there.
        claimed: Option<Verdict>,
        /// The derived verdict.
        derived: Verdict,
    },
}

impl Certificate {
    /// Derives the verdict for every channel.
    pub fn derive(before: Vec<Step>, after: Step, interval: Per<(i64, i64)>) -> Result<Self, DecideError> {
        let verdict = verdicts(&before, &after, &interval)?;
        Ok(Certificate {
            before,
            after,
            interval,
            verdict,
        })
    }

    /// Derives every verdict again and compares.
    pub fn check(&self) -> Result<(), CertificateError> {
        let derived = verdicts(&self.before, &self.after, &self.interval)?;
        if derived.channels() != self.verdict.channels() {
            let (expected, found) = (derived.values().len(), self.verdict.values().len());
            return Err(DecideError::Channels { expected, found }.into());
        }
        for (channel, (derived, claimed)) in derived.values().iter().zip(self.verdict.values()).enumerate() {
            if derived != claimed {
                let (claimed, derived) = (Some(claimed.clone()), derived.clone());
                return Err(CertificateError::Differs {
                    channel,
                    claimed,
                    derived,
                });
            }
        }
        Ok(())
    }

    /// The verdict of the channel with the largest difference, the first of several.
    pub fn worst(&self) -> &Verdict {
        let all = self.verdict.values();
        let worst = all.iter().rev().max_by_key(|v| v.max_lsb());
        worst.unwrap_or(&Verdict::Exact)
    }
}
