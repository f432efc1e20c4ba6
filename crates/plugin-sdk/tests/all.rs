//! Tests of the SDK as a vendor's crate uses it. They are one program, so that the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod library;
mod names;
mod ui;
