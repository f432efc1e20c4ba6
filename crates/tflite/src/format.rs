//! The format, as whoever opens files of several formats knows it.

use std::path::Path;

use bytes::Bytes;
use strait_core::Module;
use strait_import::{Assumed, Decoded, Format, ReadError, ReadOptions};

use crate::{Model, graph::IDENTIFIER, read::MOST_BYTES};

/// TFLite.
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

impl Decoded for Model {
    fn tensors(&self) -> Vec<&str> {
        Model::tensors(self).collect()
    }

    fn nodes(&self) -> Vec<&str> {
        Model::nodes(self).collect()
    }

    fn read(&self, options: &ReadOptions) -> Result<Module, ReadError> {
        Model::read(self, options)
    }

    fn read_single(&self, options: &ReadOptions) -> Result<(Module, Assumed), ReadError> {
        Model::read_single(self, options)
    }

    fn may_be_hybrid(&self) -> bool {
        true
    }
}
