//! Replaces `described.rs` in builds without schemas. In such builds, the shape of every type is unknown, and every
//! value passes the check.

use crate::{Format, Shape};

/// The trait of types that have a JSON schema. In builds without schemas, as here, every type implements it.
pub trait Described {}

impl<T> Described for T {}

pub(crate) fn shape<T: Described>(_: &'static [Format]) -> Shape {
    Shape::Unknown
}
