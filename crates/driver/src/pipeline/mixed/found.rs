//! What one search has found.

use strait_compile::Algorithms;
use strait_container::Digest;

use crate::report::MixedPrecision;

/// What one search has found.
pub(super) struct FoundRules {
    /// The algorithms with which the rules hold.
    pub(super) algorithms: Option<Algorithms>,
    /// The digest of the samples, if they are not the calibration samples.
    pub(super) samples: Option<Digest>,
    /// The report, which has the rules.
    pub(super) report: MixedPrecision,
}
