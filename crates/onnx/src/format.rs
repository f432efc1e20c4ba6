//! Registers ONNX as a format, for callers that open files of several formats.

use std::path::Path;

use bytes::Bytes;
use strait_import::{
    Decoded, Format, ReadError,
    wire::{Value, fields},
};

use crate::Model;

/// The field number of a model's graph.
const GRAPH: u64 = 7;

/// The format of ONNX files.
#[derive(Clone, Copy, Debug)]
pub struct Onnx;

impl Format for Onnx {
    fn name(&self) -> &'static str {
        "ONNX"
    }

    /// A file is recognised if its first field is a version, and a later field has the number of the graph.
    fn recognises(&self, bytes: &[u8]) -> bool {
        let mut fields = fields(bytes);
        matches!(fields.next(), Some((1, Value::Number(_))))
            && fields.any(|(number, value)| number == GRAPH && matches!(value, Value::Bytes(_) | Value::Cut { .. }))
    }

    fn decode(&self, bytes: Bytes, folder: Option<&Path>) -> Result<Box<dyn Decoded>, ReadError> {
        Ok(Box::new(Model::decode_in(bytes, folder)?))
    }
}
