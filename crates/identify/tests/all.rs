//! Tests of identifying arithmetics from recordings. They are one program, so that the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

mod damaged;
mod drawn;
mod extremes;
mod files;
mod reread;
