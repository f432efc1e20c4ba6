//! Recordings. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

mod damaged;
mod drawn;
mod extremes;
mod files;
mod reread;
