//! The IR. One program, so that it is linked once.

mod support;

mod attributes;
mod bytes;
mod inference;
mod patches;
mod reason_codes;
mod text;
