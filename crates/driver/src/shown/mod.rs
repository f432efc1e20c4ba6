//! The tables and lines of text that people are shown of a report, an artifact, and its verification.

mod accuracy;
mod fusions;
mod nearness;
mod quantization;
mod report;
mod rules;
mod sanity;
mod summary;
mod verification;

/// A report, or a part of one, to be shown as text.
pub struct Shown<'a, T>(pub &'a T);
