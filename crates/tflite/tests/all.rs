//! TFLite files. One program, so that it is linked once.

mod common;

mod files;
mod given;
mod models;
mod operators;
mod recurrent;
