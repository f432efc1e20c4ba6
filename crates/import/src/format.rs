//! Formats of models, as whoever opens a file knows them: a list of [`Format`]s in the place of an enum, so that a program
//! can bring its own.

use std::{fmt::Debug, path::Path};

use bytes::Bytes;
use strait_core::Module;

use crate::{Assumed, ReadError, ReadOptions};

/// The most bytes of a file in Protocol Buffers, whose lengths have 31 bits.
pub const MOST_BYTES_OF_PROTOBUF: u64 = 1 << 31;

/// A format of models.
pub trait Format: Debug + Sync {
    /// Its name, as people know it.
    fn name(&self) -> &'static str;

    /// True of a file of this format, by its bytes and whatever its name is.
    fn recognises(&self, bytes: &[u8]) -> bool;

    /// Decodes a model; `folder` is where its data files are looked for, if it has any. Without a folder none is opened.
    ///
    /// # Errors
    /// Bytes that are no model of this format.
    fn decode(&self, bytes: Bytes, folder: Option<&Path>) -> Result<Box<dyn Decoded>, ReadError>;

    /// The most bytes that a file of this format can have.
    fn most_bytes(&self) -> u64 {
        MOST_BYTES_OF_PROTOBUF
    }
}

/// A decoded model, from which a module can be read.
pub trait Decoded: Debug + Send {
    /// The names of all tensors that the graph can be cut at, in the order of the file.
    fn tensors(&self) -> Vec<&str>;

    /// The names of all nodes in the order of the file.
    fn nodes(&self) -> Vec<&str>;

    /// Builds the module; dimensions that nothing binds stay symbolic.
    ///
    /// # Errors
    /// A model that contradicts itself or has parts that are not known; options that do not fit it.
    fn read(&self, options: &ReadOptions) -> Result<Module, ReadError>;

    /// The same with the batch bound to 1, if nothing binds it. Which dimensions were bound so is part of the answer.
    ///
    /// # Errors
    /// As for [`Decoded::read`].
    fn read_single(&self, options: &ReadOptions) -> Result<(Module, Assumed), ReadError>;

    /// The data files that have been read from so far, each by its place below the model's folder.
    fn data_files(&self) -> Vec<(String, Bytes)> {
        Vec::new()
    }

    /// True of a format that has layers with weights of codes beside real activations.
    fn may_be_hybrid(&self) -> bool {
        false
    }
}

/// The format of a file by its bytes: the first of `formats` that recognises them.
pub fn recognised<'f>(formats: &[&'f dyn Format], bytes: &[u8]) -> Option<&'f dyn Format> {
    formats.iter().copied().find(|format| format.recognises(bytes))
}

/// The most bytes that a file of one of `formats` can have.
pub fn most_bytes(formats: &[&dyn Format]) -> u64 {
    formats
        .iter()
        .map(|format| format.most_bytes())
        .max()
        .unwrap_or(u64::MAX)
}

/// Decodes a model of one of `formats`. What none of them recognises is left to the last one, whose reader says best what is
/// wrong with it.
///
/// # Errors
/// Bytes that are no model of these formats, or more than a file of the format can have.
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
