//! Tests of TFLite files. All of them are one program, so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

mod files;
mod given;
mod models;
mod operators;
mod recurrent;
