//! Decides which nodes run on the host, because they are better off there or because the target cannot run them.

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
