//! The work of passes, with all that later ones and later turns need of it.

pub(crate) mod draft;
pub(crate) mod given;
pub(crate) mod losses;
pub(crate) mod ranges;

pub use losses::{Coarser, Overlapped, Raised};
