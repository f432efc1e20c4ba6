//! Describes which samples to use.

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
};

/// Where samples come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleSource {
    /// A file, a folder, or a pattern over paths of files (see the table of [the crate](crate)).
    Path(PathBuf),
    /// A list of files with images or arrays, in the order of the samples.
    Listed(Vec<PathBuf>),
    /// Random numbers as elements of the inputs. The field is the number of samples.
    Random(NonZeroU32),
}

/// What happens if an image cannot be decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// The work stops with an error.
    #[default]
    Refuse,
    /// The image is left out, and listed in [`Samples::left_out`](crate::Samples::left_out). To find such images, all
    /// images are decoded one additional time before the work begins.
    Skip,
}

/// Which samples to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Where the samples are.
    pub source: SampleSource,
    /// Only this many samples are used, the first of the set; `None` if all are used.
    pub most: Option<NonZeroU32>,
    /// What happens if an image cannot be decoded.
    pub unreadable: Unreadable,
}

impl From<&Path> for Set {
    /// All samples at a path.
    fn from(path: &Path) -> Set {
        Set {
            source: SampleSource::Path(path.to_owned()),
            most: None,
            unreadable: Unreadable::Refuse,
        }
    }
}
