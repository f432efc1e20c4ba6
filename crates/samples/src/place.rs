//! The set of samples that is asked for.

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
};

/// Where samples are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleSource {
    /// A file, a folder, or a pattern over paths of files (see the table of [the crate](crate)).
    Path(PathBuf),
    /// These images or arrays, in this order.
    Listed(Vec<PathBuf>),
    /// So many random numbers for each element of the inputs.
    Random(NonZeroU32),
}

/// The consequence of an image that cannot be decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// Nothing is done without it.
    #[default]
    Refuse,
    /// It is left out, and named in [`Samples::left_out`](crate::Samples::left_out). All images are decoded once more, before the work
    /// begins.
    Skip,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Where they are.
    pub source: SampleSource,
    /// Only the first so many; `None` for all.
    pub most: Option<NonZeroU32>,
    /// The consequence of an image that cannot be decoded.
    pub unreadable: Unreadable,
}

impl From<&Path> for Set {
    /// All samples of a path.
    fn from(path: &Path) -> Set {
        Set {
            source: SampleSource::Path(path.to_owned()),
            most: None,
            unreadable: Unreadable::Refuse,
        }
    }
}
