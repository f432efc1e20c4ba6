//! The trait of a model format. Callers that open files take a list of [`Format`]s. [`Format`] is not an enum, so that
//! a program can add formats of its own.

use std::{fmt::Debug, path::Path};

use bytes::Bytes;
use strait_core::Module;

use crate::{Assumed, ReadError, ReadOptions};

/// The largest size in bytes of a file that uses Protocol Buffers, whose lengths have 31 bits.
pub const MOST_BYTES_OF_PROTOBUF: u64 = 1 << 31;

/// A model format.
pub trait Format: Debug + Sync {
    /// The usual name of the format.
    fn name(&self) -> &'static str;

    /// True if the bytes are a file of this format, whatever name the file has.
    fn recognises(&self, bytes: &[u8]) -> bool;

    /// Decodes a model. If the model has data files, they are looked for in `folder`. Without a folder, no data file is
    /// opened.
    ///
    /// # Errors
    /// The bytes are not a model of this format.
    fn decode(&self, bytes: Bytes, folder: Option<&Path>) -> Result<Box<dyn Decoded>, ReadError>;

    /// The largest size in bytes of a file of this format.
    fn most_bytes(&self) -> u64 {
        MOST_BYTES_OF_PROTOBUF
    }
}

/// A decoded model, from which a module can be read.
pub trait Decoded: Debug + Send {
    /// The names of all tensors at which the graph can be cut, in the order of the file.
    fn tensors(&self) -> Vec<&str>;

    /// The names of all nodes in the order of the file.
    fn nodes(&self) -> Vec<&str>;

    /// Builds the module. If `is_single` is true, the batch is bound to 1 if nothing else binds it, and the returned
    /// [`Assumed`] lists the dimensions that were bound in this way. All other dimensions without a bound value stay
    /// symbolic.
    ///
    /// # Errors
    /// The model contradicts itself or has operators that are not known, or the options do not fit it.
    fn build(&self, options: &ReadOptions, is_single: bool) -> Result<(Module, Assumed), ReadError>;

    /// Builds the module. Dimensions without a bound value stay symbolic.
    ///
    /// # Errors
    /// As for [`Decoded::build`].
    fn read(&self, options: &ReadOptions) -> Result<Module, ReadError> {
        self.build(options, false).map(|(module, _)| module)
    }

    /// Like [`Decoded::read`], but binds the batch to 1 if nothing else binds it. The returned [`Assumed`] lists the
    /// dimensions that were bound in this way.
    ///
    /// # Errors
    /// As for [`Decoded::build`].
    fn read_single(&self, options: &ReadOptions) -> Result<(Module, Assumed), ReadError> {
        self.build(options, true)
    }

    /// Returns the data files that have been read so far. For each file, this gives the path relative to the model's
    /// folder, and the content.
    fn data_files(&self) -> Vec<(String, Bytes)> {
        Vec::new()
    }

    /// True if models of this format can have hybrid layers, which have integer weights and float activations.
    fn may_be_hybrid(&self) -> bool {
        false
    }
}

/// Finds the format of a file by its bytes: the first of `formats` that recognises them.
pub fn recognised<'f>(formats: &[&'f dyn Format], bytes: &[u8]) -> Option<&'f dyn Format> {
    formats.iter().copied().find(|format| format.recognises(bytes))
}

/// The largest size in bytes of a file of any of `formats`.
pub fn most_bytes(formats: &[&dyn Format]) -> u64 {
    formats
        .iter()
        .map(|format| format.most_bytes())
        .max()
        .unwrap_or(u64::MAX)
}

/// Decodes a model of one of `formats`. If no format recognises the bytes, the last format decodes them, because its
/// error explains best what is wrong.
///
/// # Errors
/// The bytes are not a model of one of these formats, or there are more bytes than a file of the format can have.
pub fn decode(formats: &[&dyn Format], bytes: Bytes, folder: Option<&Path>) -> Result<Box<dyn Decoded>, ReadError> {
    let format = recognised(formats, &bytes).or_else(|| formats.last().copied());
    let Some(format) = format else {
        let text = "this program reads no format of models".to_owned();
        return Err(ReadError::Options {
            option: "formats",
            text,
        });
    };
    let (count, most) = (bytes.len(), format.most_bytes());
    if count as u64 > most {
        return Err(ReadError::Decode {
            format: format.name(),
            words: format!("it has {count} bytes, and none has more than {most}"),
        });
    }
    format.decode(bytes, folder)
}
