//! A decoded model of any of the formats that are read. The bytes say which it is, and not the name of the file.

use std::path::Path;

use bytes::Bytes;
use strait_core::Module;
use strait_import::{Assumed, ReadError, ReadOptions};

use crate::recognise::Kind;

/// A TFLite file may have its weights behind the 31 bits of its own offsets.
pub(crate) const MOST_BYTES: u64 = 1 << 40;

/// Protobuf's lengths have 31 bits.
const MOST_BYTES_OF_PROTOBUF: usize = 1 << 31;

/// A decoded model.
#[derive(Debug)]
pub(crate) enum Model {
    Onnx(Box<strait_onnx::Model>),
    TensorFlow(strait_tensorflow::Model),
    TfLite(strait_tflite::Model),
}

impl Model {
    /// Maps and decodes the file at `path`, which must not change while the model or a module read from it is in use.
    pub(crate) fn open(path: &Path) -> Result<Model, ReadError> {
        let bytes = strait_mapped::map(path, MOST_BYTES).map_err(|source| ReadError::File {
            path: path.into(),
            source,
        })?;
        Model::decode(bytes, path.parent().unwrap_or(Path::new("")))
    }

    /// Decodes a model; `folder` is where its data files are looked for, if it has any.
    pub(crate) fn decode(bytes: Bytes, folder: &Path) -> Result<Model, ReadError> {
        let kind = Kind::of(&bytes);
        if kind != Some(Kind::TfLite) && bytes.len() > MOST_BYTES_OF_PROTOBUF {
            let format = kind.unwrap_or(Kind::Onnx).name();
            let words = format!(
                "it has {} bytes, and no file of protobuf has more than 2 GiB",
                bytes.len()
            );
            return Err(ReadError::Decode { format, words });
        }
        match kind {
            Some(Kind::TfLite) => strait_tflite::Model::decode(bytes).map(Model::TfLite),
            Some(Kind::TensorFlow) => strait_tensorflow::Model::decode(bytes).map(Model::TensorFlow),
            // Its reader says best what is wrong with it.
            Some(Kind::Onnx) | None => {
                strait_onnx::Model::decode(bytes, folder).map(|model| Model::Onnx(Box::new(model)))
            }
        }
    }

    /// True of a format that has layers with weights of codes beside real activations.
    pub(crate) fn may_be_hybrid(&self) -> bool {
        matches!(self, Model::TfLite(_))
    }

    /// The names of all tensors that the graph can be cut at, in the order of the file.
    pub(crate) fn tensors(&self) -> Vec<&str> {
        match self {
            Model::Onnx(model) => model.tensors().collect(),
            Model::TensorFlow(model) => model.tensors().collect(),
            Model::TfLite(model) => model.tensors().collect(),
        }
    }

    /// The names of all nodes in the order of the file.
    pub(crate) fn nodes(&self) -> Vec<&str> {
        match self {
            Model::Onnx(model) => model.nodes().collect(),
            Model::TensorFlow(model) => model.nodes().collect(),
            Model::TfLite(model) => model.nodes().collect(),
        }
    }

    /// Builds the module; dimensions that nothing binds stay symbolic.
    pub(crate) fn read(&self, options: &ReadOptions) -> Result<Module, ReadError> {
        match self {
            Model::Onnx(model) => model.read(options),
            Model::TensorFlow(model) => model.read(options),
            Model::TfLite(model) => model.read(options),
        }
    }

    /// The same with the batch bound to 1, if nothing binds it. Which dimensions were bound so is part of the answer.
    pub(crate) fn read_single(&self, options: &ReadOptions) -> Result<(Module, Assumed), ReadError> {
        match self {
            Model::Onnx(model) => model.read_single(options),
            Model::TensorFlow(model) => model.read_single(options),
            Model::TfLite(model) => model.read_single(options),
        }
    }

    /// The data files that have been read from so far, each by its place below the model's folder.
    pub(crate) fn data_files(&self) -> Vec<(String, Bytes)> {
        match self {
            Model::Onnx(model) => model.data_files(),
            Model::TensorFlow(_) | Model::TfLite(_) => Vec::new(),
        }
    }
}
