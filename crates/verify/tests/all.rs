//! Tests of the verifier's findings. All of them are one program, so that it is linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

mod divisors;
mod intervals;
mod layers;
mod limits;
mod reach;
mod sound;
mod wide;
