//! The model formats that are read. A file's format is recognized from its bytes and not from its name.

use std::path::Path;

use bytes::Bytes;
use strait_import::{Decoded, Format, ReadError};
use strait_onnx::Onnx;
use strait_tensorflow::TensorFlow;
use strait_tflite::TfLite;

/// All formats that can be read. A file that no format recognizes is read as the last format of the list.
pub(crate) const FORMATS: &[&dyn Format] = &[&TfLite, &TensorFlow, &Onnx];

/// The usual names of the formats that can be read.
pub fn formats() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name()).collect()
}

/// Maps and decodes the file at `path`. The file must not change while the model, or a module read from it, is in use.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Decoded>, ReadError> {
    let bytes = mapped(path).map_err(|source| ReadError::File {
        path: path.into(),
        source,
    })?;
    decode(bytes, path.parent().unwrap_or(Path::new("")))
}

/// Maps the file at `path`. The file must not change while the bytes are in use.
pub(crate) fn mapped(path: &Path) -> std::io::Result<Bytes> {
    strait_mapped::map(path, strait_import::most_bytes(FORMATS))
}

/// Decodes a model. If its weights are in separate files, these are looked for in `folder`.
pub(crate) fn decode(bytes: Bytes, folder: &Path) -> Result<Box<dyn Decoded>, ReadError> {
    strait_import::decode(FORMATS, bytes, Some(folder))
}
