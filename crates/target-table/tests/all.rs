//! Tests of target tables. They are one program, so that the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod documents;
#[path = "errors/main.rs"]
mod errors;
mod extends;
mod factors;
mod forms;
mod nearness;
mod own_kernel;
mod registry;
mod rows;
mod tables;
mod versions;
