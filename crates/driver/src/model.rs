//! The formats of models that are read. The bytes say which one a file has, and not its name.

use std::path::Path;

use bytes::Bytes;
use strait_import::{Decoded, Format, ReadError};
use strait_onnx::Onnx;
use strait_tensorflow::TensorFlow;
use strait_tflite::TfLite;

/// All of them. What none recognises is left to the last one.
pub(crate) const FORMATS: &[&dyn Format] = &[&TfLite, &TensorFlow, &Onnx];

/// A TFLite file may have its weights behind the 31 bits of its own offsets.
pub(crate) const MOST_BYTES: u64 = 1 << 40;

/// Maps and decodes the file at `path`, which must not change while the model or a module read from it is in use.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Decoded>, ReadError> {
    let bytes = strait_mapped::map(path, MOST_BYTES).map_err(|source| ReadError::File {
        path: path.into(),
        source,
    })?;
    decode(bytes, path.parent().unwrap_or(Path::new("")))
}

/// Decodes a model; `folder` is where its data files are looked for, if it has any.
pub(crate) fn decode(bytes: Bytes, folder: &Path) -> Result<Box<dyn Decoded>, ReadError> {
    strait_import::decode(FORMATS, bytes, Some(folder))
}
