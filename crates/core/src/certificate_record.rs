//! The certificate of a fusion, together with the node that it is about.

use serde::{Deserialize, Serialize};
use strait_requantize::Certificate;

/// The certificate of a fusion, together with the node that was fused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateRecord {
    /// The name of the value that the fused node computes, which is its first result. Before the fusion, the
    /// requantization computed this value.
    pub node: String,
    /// The row of the target's fusion table that was applied.
    pub row: String,
    /// What is claimed about the fusion.
    pub certificate: Certificate,
}
