//! Places and annotates a graph until no node is refused.

mod place;
mod revise;
mod turns;

pub use place::{denied, place};
pub use turns::{Fixpoint, annotate, refuse};
