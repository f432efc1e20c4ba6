//! Compares plans with the plain interpreter. All tests are in one program, so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

mod border;
mod channels_last;
mod coded;
mod element_types;
mod evaluate;
mod float_ops;
mod golden;
mod integer_graphs;
mod joins;
mod late;
mod limits;
mod plans;
