//! Tests of the arithmetic against its definitions and against independent computations. They are one program, so that
//! the libraries are linked only once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

mod best;
mod channels;
mod decide;
mod definitions;
mod distance;
mod documents;
mod float64;
mod forms;
mod functions;
mod layer_norm;
mod mixed;
mod nearest;
mod range;
mod rounding;
mod weaken;
mod wide;
