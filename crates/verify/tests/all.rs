//! What the verifier finds, and what it does not. One program, so that it is linked once.

mod support;

mod divisors;
mod intervals;
mod layers;
mod limits;
mod reach;
mod sound;
mod wide;
