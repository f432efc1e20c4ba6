//! Artifacts on disk. One program, so that it is linked once.

mod support;

mod artifact;
mod model;
