//! Registers TFLite as a format, for callers that open files of several formats.

use std::path::Path;

use bytes::Bytes;
use strait_import::{Decoded, Format, ReadError};

use crate::{Model, graph::IDENTIFIER, read::MOST_BYTES};

/// The format of TFLite files.
#[derive(Clone, Copy, Debug)]
pub struct TfLite;

impl Format for TfLite {
    fn name(&self) -> &'static str {
        "TFLite"
    }

    fn recognises(&self, bytes: &[u8]) -> bool {
        bytes.get(4..8) == Some(IDENTIFIER)
    }

    fn decode(&self, bytes: Bytes, _: Option<&Path>) -> Result<Box<dyn Decoded>, ReadError> {
        Ok(Box::new(Model::decode(bytes)?))
    }

    fn most_bytes(&self) -> u64 {
        MOST_BYTES
    }
}
