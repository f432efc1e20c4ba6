//! An object in an image, as labels have it.

use serde::Deserialize;

/// A labelled object.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// The object's class.
    pub class: u32,
    /// Left, top, right and bottom.
    #[serde(rename = "box")]
    pub corners: [f64; 4],
}
