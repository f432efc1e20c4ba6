//! A labelled object in an image.

use serde::Deserialize;

/// A labelled object.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// The object's class.
    pub class: u32,
    /// The positions of the left, top, right and bottom border of the object's box.
    #[serde(rename = "box")]
    pub corners: [f64; 4],
}
