//! The section of certificates.

use crate::model::ModelError;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use strait_core::CertificateRecord;

/// The most bytes that the section may have: four kilobytes for each of 65536 channels.
const MAX_BYTES: usize = 1 << 28;

/// The section: JSON, because it is small and people want to read it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<'a> {
    certificates: Cow<'a, [CertificateRecord]>,
}

/// The bytes of the section. Floats are written with as many digits as it takes to read the same ones back.
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
