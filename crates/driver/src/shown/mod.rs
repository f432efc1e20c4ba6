//! Tables and lines of text that people are shown of a report, of an artifact, and of its verification.

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

/// A report, or a part of one, as text.
pub struct Shown<'a, T>(pub &'a T);
