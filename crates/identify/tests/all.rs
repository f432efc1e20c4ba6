//! Recordings. One program, so that it is linked once.

mod common;

mod drawn;
mod extremes;
mod files;
