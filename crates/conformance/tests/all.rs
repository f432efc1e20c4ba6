//! The kit. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod admits;
mod functions;
mod kit;
mod recorded;
mod targets;
