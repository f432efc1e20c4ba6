//! Tables. One program, so that it is linked once.

mod documents;
#[path = "errors/main.rs"]
mod errors;
mod extends;
mod factors;
mod forms;
mod nearness;
mod own_kernel;
mod registry;
mod tables;
mod versions;
