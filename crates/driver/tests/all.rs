//! Configurations. One program, so that it is linked once.

mod config;
mod documents;
mod repository_configs;
