//! Where samples and labels are stored.

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

/// What to do with an image that cannot be decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unreadable {
    /// It is an error.
    #[default]
    Error,
    /// Images that cannot be decoded are left out. The report counts them and lists their names. To find them, all images
    /// are decoded one more time. Labels then have to refer to images by name.
    Skip,
}

/// What to do with NaN. For example, a softmax computes NaN for a row that is completely masked, and some data sets use NaN
/// for missing numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotANumber {
    /// NaN is left out of the measurements. A warning names the tensors in which NaN first appears (they may be inputs), the
    /// number of samples with NaN, and the share of the numbers that are NaN. If a value is NaN everywhere, its node stays on
    /// the host.
    #[default]
    Skip,
    /// NaN is an error.
    Error,
}

impl Data {
    /// True if the samples are random numbers.
    pub fn is_random(&self) -> bool {
        matches!(self, Data::One(path) if path.random().is_some())
    }

    /// The set of samples. If `most` is given, only the first `most` samples are used.
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
