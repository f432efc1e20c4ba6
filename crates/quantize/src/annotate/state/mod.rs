//! The configs that the passes make, and everything that later passes and runs need from earlier passes and runs.

mod context;
mod draft;
pub(crate) mod given;
mod losses;
mod ranges;

pub(crate) use context::PassContext;
pub(crate) use draft::{Bound, Draft, is_given, is_made, refuse};
pub use losses::{Coarser, Overlapped, Raised};
pub(crate) use ranges::{COARSEST, coarser, most_doublings};
