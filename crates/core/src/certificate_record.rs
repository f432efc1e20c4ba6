//! The claim of one fusion beside the node that it is about.

use serde::{Deserialize, Serialize};
use strait_requantize::Certificate;

/// Claim of one fusion, and its node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateRecord {
    /// The name of the value that the fused node computes: the first result's, which is that of the requantization
    /// before the fusion too.
    pub node: String,
    /// The row of the target's fusion table that fired.
    pub row: String,
    /// The claim.
    pub certificate: Certificate,
}
