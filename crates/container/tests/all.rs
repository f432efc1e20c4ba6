//! Tests of artifacts on disk. They are one program, so that the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

mod artifact;
mod model;
