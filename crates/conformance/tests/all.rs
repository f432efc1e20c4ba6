//! Tests of the conformance kit. They are one program, so that the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod admits;
mod functions;
mod kit;
mod recorded;
