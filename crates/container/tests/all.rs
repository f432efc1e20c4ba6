//! Artifacts on disk. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

mod artifact;
mod model;
