//! Which nodes serve better on the host, or can run nowhere else.

mod code;
pub(crate) mod extents;
pub(crate) mod refusal;
mod requirements;
pub(crate) mod settle;
mod statistics;
mod widen;

pub use code::refused_by_code;
pub use widen::widen;
