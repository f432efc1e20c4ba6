//! Maps files into memory as [`bytes::Bytes`], without copying them. The weights of a model stay in their file, and
//! every tensor is a slice that keeps the map alive. Parts of a file that others may change meanwhile can be read
//! instead ([`read_part`]).

mod mmap;
mod part;

pub use mmap::{MappedFile, map, read};
pub use part::read_part;
