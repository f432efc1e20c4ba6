//! Tests of configurations. They are one program, so that the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod config;
mod documents;
mod repository_configs;
