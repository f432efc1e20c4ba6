//! The section of certificates.

use crate::model::ModelError;
use serde::{Deserialize, Serialize};
use strait_requantize::Certificate;

/// The most bytes that the section may have: four kilobytes for each of 65536 channels.
const MAX_BYTES: usize = 1 << 28;

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

/// The section: JSON, because it is small and people want to read it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    certificates: Vec<CertificateRecord>,
}

/// The bytes of the section. Floats are written with as many digits as it takes to read the same ones back.
pub(crate) fn encode(records: &[CertificateRecord]) -> Result<Vec<u8>, ModelError> {
    #[derive(Serialize)]
    struct Content<'a> {
        certificates: &'a [CertificateRecord],
    }
    serde_json::to_vec(&Content { certificates: records }).map_err(ModelError::Certificates)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<CertificateRecord>, ModelError> {
    if bytes.len() > MAX_BYTES {
        return Err(ModelError::TooManyCertificates(bytes.len()));
    }
    let content: Content = serde_json::from_slice(bytes).map_err(ModelError::Certificates)?;
    Ok(content.certificates)
}
