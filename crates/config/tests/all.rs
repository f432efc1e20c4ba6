//! Configurations. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod config;
mod documents;
mod repository_configs;
