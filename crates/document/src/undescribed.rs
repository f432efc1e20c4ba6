//! Replaces `described.rs` in builds without schemas. The shape of every type is unknown and passes the check.

use crate::{Format, Shape};

/// Any type: one with a JSON schema, where the feature `schema` is on.
pub trait Described {}

impl<T> Described for T {}

pub(crate) fn shape<T: Described>(_: &'static [Format]) -> Shape {
    Shape::Unknown
}
