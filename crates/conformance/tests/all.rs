//! The kit. One program, so that it is linked once.

mod kit;
mod targets;
