//! The certificate of a fusion, together with the fused node.

use serde::{Deserialize, Serialize};
use strait_requantize::Certificate;

/// The certificate of a fusion, together with the node that was fused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateRecord {
    /// The name of the fused node's first result. Before the fusion, the requantization computed the value with this
    /// name.
    pub node: String,
    /// The row of the target's fusion table that allows the fusion.
    pub row: String,
    /// The claim that the fused node computes the same as before.
    pub certificate: Certificate,
}
