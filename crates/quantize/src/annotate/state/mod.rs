//! The work of the passes, and everything that later passes and turns need from it.

mod draft;
pub(crate) mod given;
mod losses;
mod ranges;

pub(crate) use draft::{Bound, Draft, PassContext, is_given, is_made};
pub use losses::{Coarser, Overlapped, Raised};
pub(crate) use ranges::{COARSEST, coarser, most_doublings};
