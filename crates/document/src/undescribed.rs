//! Replaces `described.rs` in builds without schemas. In such builds, the shape of every type is unknown, and every
//! value passes the check.

use crate::{Format, Shape};

/// In this build, every type implements this trait. With the feature `schema`, it is the trait of types that have a
/// JSON schema.
pub trait Described {}

impl<T> Described for T {}

pub(crate) fn shape<T: Described>(_: &'static [Format]) -> Shape {
    Shape::Unknown
}
