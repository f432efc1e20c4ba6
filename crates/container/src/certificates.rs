//! The section of the container file with the fusions' certificates.

use crate::error::ModelError;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use strait_core::CertificateRecord;

/// Largest size of the certificates' section in bytes: four kilobytes for each of 65536 channels.
const MAX_BYTES: usize = 1 << 28;

/// Contents of the section. They are stored as JSON, since they are small and people want to read them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<'a> {
    certificates: Cow<'a, [CertificateRecord]>,
}

/// The bytes of the section. Floats get enough digits to be read back unchanged.
pub(crate) fn encode(records: &[CertificateRecord]) -> Result<Vec<u8>, ModelError> {
    let certificates = Cow::Borrowed(records);
    serde_json::to_vec(&Content { certificates }).map_err(ModelError::Certificates)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<CertificateRecord>, ModelError> {
    if bytes.len() > MAX_BYTES {
        return Err(ModelError::TooManyCertificates(bytes.len()));
    }
    let content: Content<'_> = serde_json::from_slice(bytes).map_err(ModelError::Certificates)?;
    Ok(content.certificates.into_owned())
}
