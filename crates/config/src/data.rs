//! Where samples and labels are.

use std::{num::NonZeroU32, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_samples as samples;

use super::leaf::{DataPath, FilePath};

/// Samples: a path, or a list of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Data {
    /// A path, or `random:N`.
    One(DataPath),
    /// Images or arrays, in this order.
    Listed(Vec<FilePath>),
}

/// Consequence of an image that cannot be decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unreadable {
    /// It is an error.
    #[default]
    Error,
    /// It is left out. The report counts and names all such images. To know them all images are decoded once more, and labels
    /// need to know their images by name.
    Skip,
}

/// Consequence of numbers that are NaN: rows that a mask leaves nothing of have them behind a softmax, for instance, and samples where
/// a number is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotANumber {
    /// They are left out of what is measured, and a warning names the tensors in which they come up, samples and shares; an input
    /// is one of these. A value that is NaN everywhere stays on the host.
    #[default]
    Skip,
    /// They are an error.
    Error,
}

impl Data {
    /// True for random numbers.
    pub fn is_random(&self) -> bool {
        matches!(self, Data::One(path) if path.random().is_some())
    }

    /// The set of samples.
    pub fn set(&self, most: Option<NonZeroU32>, unreadable: Unreadable) -> samples::Set {
        samples::Set {
            source: match self {
                Data::One(path) => match path.random() {
                    Some(count) => samples::SampleSource::Random(count),
                    None => samples::SampleSource::Path(path.as_ref().to_owned()),
                },
                Data::Listed(paths) => {
                    let paths = paths.iter().map(|path| PathBuf::from(path.as_str()));
                    samples::SampleSource::Listed(paths.collect())
                }
            },
            most,
            unreadable: match unreadable {
                Unreadable::Error => samples::Unreadable::Refuse,
                Unreadable::Skip => samples::Unreadable::Skip,
            },
        }
    }
}
