//! The way from a configuration to artifacts.
//!
//! ```text
//! read ─▶ canonicalise ─▶ observe ─┬▶ quantize ─▶ fuse ─▶ verify ─▶ evaluate ─▶ write     for one target
//!                                  └▶ …                                                 for the next one
//! ```

mod blame;
mod compile;
mod directives;
mod emit;
mod gates;
pub(crate) mod inputs;
mod lowered;
mod observe;
pub mod read;
pub(crate) mod select;

pub(crate) use compile::canonical;
pub use compile::{Compiled, REPORT_FILE, compile};
