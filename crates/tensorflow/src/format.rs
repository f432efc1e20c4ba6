//! Registers TensorFlow graphs as a format, for callers that open files of several formats.

use std::path::Path;

use bytes::Bytes;
use strait_import::{
    Decoded, Format, ReadError,
    wire::{Value, fields},
};

use crate::{FORMAT, Model};

/// The format of frozen TensorFlow graphs.
#[derive(Clone, Copy, Debug)]
pub struct TensorFlow;

impl Format for TensorFlow {
    fn name(&self) -> &'static str {
        FORMAT
    }

    /// A file is recognised if it begins with a list of nodes, each of which begins with a name and an operator.
    fn recognises(&self, bytes: &[u8]) -> bool {
        let Some((1, Value::Bytes(node))) = fields(bytes).next() else {
            return false;
        };
        let mut node = fields(node);
        let text = |field: Option<(u64, Value<'_>)>, number: u64| match field {
            Some((n, Value::Bytes(text))) => n == number && !text.is_empty() && text.iter().all(u8::is_ascii_graphic),
            _ => false,
        };
        text(node.next(), 1) && text(node.next(), 2)
    }

    fn decode(&self, bytes: Bytes, _: Option<&Path>) -> Result<Box<dyn Decoded>, ReadError> {
        Ok(Box::new(Model::decode(bytes)?))
    }
}
