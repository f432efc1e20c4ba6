//! Tests of the command line. They are one program, so that the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod check;
mod copy;

#[path = "commands/main.rs"]
mod commands;
mod damaged;
mod days;
mod edges;
mod eval;
mod init;
mod kept;
mod readme;
mod sizes;
mod targets;
mod verify;
