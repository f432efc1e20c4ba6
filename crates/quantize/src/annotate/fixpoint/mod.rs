//! Places and annotates until nothing is refused.

mod place;
mod progress;
mod revise;

pub use place::{denied, place};
pub use progress::{Progress, annotate, refuse};
