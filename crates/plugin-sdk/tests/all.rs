//! A vendor's crate. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod library;
mod names;
mod ui;
