//! What turns the configuration of a deployment into an artifact.

pub mod config;
pub mod data;
pub mod deployment;
pub mod diagnostic;
pub mod evaluation;
pub mod failure;
pub mod pipeline;
pub mod report;
pub mod session;
pub mod stop;
pub mod targets;
