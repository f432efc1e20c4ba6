//! What the report says about samples that were read from images.

use serde::{Deserialize, Serialize};

/// A set of images that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataReport {
    /// Number of samples.
    pub samples: usize,
    /// Names and versions of the image decoders.
    pub decoder: String,
    /// Names and versions of the libraries whose arithmetic is used to resize and to convert to gray, in the order of
    /// the steps.
    pub arithmetic: Vec<String>,
    /// Images that could not be decoded, by their paths relative to the folder of the set.
    pub left_out: Vec<String>,
}

impl DataReport {
    /// The decoders and the libraries for arithmetic, in one line.
    pub fn reader(&self) -> String {
        let parts = std::iter::once(&self.decoder).chain(&self.arithmetic);
        parts.map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}
