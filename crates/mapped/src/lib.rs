//! Maps files into memory as [`bytes::Bytes`], without copying them. The weights of a model stay in their file: every
//! tensor is a slice of the map, and keeps the map alive. If other processes may change a file while it is in use,
//! parts of it can be read into memory instead ([`read_part`]).

mod mmap;
mod part;

pub use mmap::{MappedFile, map, read, release};
pub use part::read_part;
