//! The command line. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod copy;

#[path = "commands/main.rs"]
mod commands;
mod damaged;
mod edges;
mod eval;
mod kept;
mod readme;
mod sizes;
mod targets;
mod verify;
