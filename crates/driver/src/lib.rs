//! What turns the configuration of a deployment into an artifact.

pub mod diagnostic;
