//! Decides which nodes are better off on the host, or cannot run anywhere else.

mod code;
mod extents;
mod refusal;
mod requirements;
mod settle;
mod statistics;
mod widen;

pub use code::refused_by_code;
pub(crate) use extents::cuts;
pub(crate) use refusal::refusal;
pub(crate) use settle::Settled;
pub use widen::widen;
