//! What one search has found.

use strait_compile::Algorithms;

use crate::report::MixedPrecision;

/// What one search has found.
pub(super) struct FoundRules {
    /// The algorithms with which the rules hold.
    pub(super) algorithms: Option<Algorithms>,
    /// The report, which has the rules.
    pub(super) report: MixedPrecision,
}
