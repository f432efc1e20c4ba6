//! The work of passes, with all that later ones and later turns need of it.

mod draft;
pub(crate) mod given;
mod losses;
mod ranges;

pub(crate) use draft::{Bound, Draft, PassContext, is_given, is_made};
pub use losses::{Coarser, Overlapped, Raised};
pub(crate) use ranges::{COARSEST, coarser, most_doublings};
