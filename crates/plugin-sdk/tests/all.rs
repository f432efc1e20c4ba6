//! A vendor's crate. One program, so that it is linked once.

mod library;
mod names;
mod ui;
