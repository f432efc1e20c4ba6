//! Files as [`bytes::Bytes`], mapped and not copied: the weights of a model or an artifact stay where they are, and every
//! tensor is a slice that keeps the map alive.

mod mmap;

pub use mmap::{MappedFile, map, read};
