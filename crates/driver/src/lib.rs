//! What turns the configuration of a deployment into an artifact.

pub mod config;
pub mod data;
pub mod diagnostic;
pub mod evaluation;
pub mod failure;
pub mod session;
pub mod stop;
