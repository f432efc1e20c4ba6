//! The tables and lines of text that people are shown of a report, an artifact, and its verification.

mod accuracy;
mod details;
mod fusions;
mod grouped;
mod nearness;
mod quantization;
mod report;
mod rules;
mod sanity;
mod summary;
mod verification;

pub use details::Details;

/// A report, or a part of one, to be shown as text.
pub struct Shown<'a, T>(pub &'a T);
