//! Makes the tables and lines of text in which reports, artifacts and verifications are shown to people.

mod accuracy;
mod analysis;
mod checks;
mod details;
mod effective;
mod fusions;
mod grouped;
mod migrated;
mod mixed;
mod nearness;
mod next;
mod optimized;
mod quantization;
mod report;
mod rules;
mod sanity;
mod summary;
mod verification;

pub use analysis::WorstLayers;
pub use checks::AllLayers;
pub use details::Details;
pub use next::Next;

/// A report, or a part of one, to be shown as text.
pub struct Shown<'a, T>(pub &'a T);
