//! In the place of `described.rs`, where there are no schemas: of every type the shape is unknown, and passes.

use crate::{Format, Shape};

/// Any type: one with a JSON schema, where the feature `schema` is on.
pub trait Described {}

impl<T> Described for T {}

pub(crate) fn shape<T: Described>(_: &'static [Format]) -> Shape {
    Shape::Unknown
}
