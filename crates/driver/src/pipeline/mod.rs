//! The way from a configuration to artifacts.
//!
//! ```text
//! read ─▶ canonicalise ─▶ observe ─┬▶ quantize ─▶ fuse ─▶ verify ─▶ evaluate ─▶ write     for one target
//!                                  └▶ …                                                 for the next one
//! ```

mod compile;
mod directives;
mod emit;
mod gates;
mod inputs;
mod lowered;
mod observe;
pub mod read;
mod select;

pub use compile::{Compiled, REPORT_FILE, compile};
