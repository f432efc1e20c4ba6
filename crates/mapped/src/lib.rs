//! Files as [`bytes::Bytes`], mapped and not copied: the weights of a model stay where they are, and every tensor is a slice
//! that keeps the map alive. Of a file that others may change in the meantime, parts are read ([`read_part`]).

mod mmap;
mod part;

pub use mmap::{MappedFile, map, read};
pub use part::read_part;
