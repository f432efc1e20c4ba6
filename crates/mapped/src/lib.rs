//! Maps files into memory as [`bytes::Bytes`], without copying them. The weights of a model stay in their file, and
//! every tensor is a slice of the map and keeps it alive. If other processes may change a file meanwhile, its parts can
//! be read instead ([`read_part`]).

mod mmap;
mod part;

pub use mmap::{MappedFile, map, read};
pub use part::read_part;
