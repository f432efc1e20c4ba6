//! The IR. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

mod attributes;
mod bytes;
mod inference;
mod patches;
mod reason_codes;
mod text;
