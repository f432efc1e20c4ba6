//! Tables and lines of text that people are shown of a report.

mod accuracy;
mod nearness;
mod quantization;
mod report;
mod rules;
mod sanity;

pub(crate) use report::grouped;

/// A report, or a part of one, as text.
pub struct Shown<'a, T>(pub &'a T);
