//! Tests of the IR. All of them are one program, so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

mod attributes;
mod bytes;
mod inference;
mod patches;
mod reason_codes;
mod text;
