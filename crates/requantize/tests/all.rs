//! The arithmetic, by definition and by other means. One program, so that it is linked once.
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
