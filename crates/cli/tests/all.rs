//! The command line. One program, so that it is linked once.

mod copy;

#[path = "commands/main.rs"]
mod commands;
mod damaged;
mod eval;
mod kept;
mod readme;
mod sizes;
mod targets;
mod verify;
