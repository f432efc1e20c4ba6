//! The certificate of a fusion, together with the node that it is about.

use serde::{Deserialize, Serialize};
use strait_requantize::Certificate;

/// The certificate of a fusion, together with the node that was fused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateRecord {
    /// The name of the fused node's first result. Before the fusion, the requantization computed the value with this
    /// name.
    pub node: String,
    /// The row of the target's fusion table that was applied.
    pub row: String,
    /// What is claimed about the fusion.
    pub certificate: Certificate,
}
