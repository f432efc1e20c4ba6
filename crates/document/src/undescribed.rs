//! Replaces `described.rs` in builds without schemas. In such builds, the shape of every type is unknown, and every
//! value passes the check.

use crate::{Format, Shape};

/// A trait that every type has here. With the feature `schema`, it is the trait of types that have a JSON schema.
pub trait Described {}

impl<T> Described for T {}

pub(crate) fn shape<T: Described>(_: &'static [Format]) -> Shape {
    Shape::Unknown
}
