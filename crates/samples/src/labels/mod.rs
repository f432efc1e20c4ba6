//! Labels of samples: classes, arrays such as masks and references, and boxes of objects.

mod arrays;
mod boxes;
mod coco;

use std::path::Path;

use strait_core::counted;

use crate::{
    error::{DataError, Kind},
    samples::Samples,
};

pub use arrays::{label_array, read_labels};
pub use boxes::{MOST_CLASSES, Object, read_boxes};

/// The word, in the place of a file, for classes that are the folders of images.
pub const FOLDERS: &str = "folders";

/// Number of labels that there are to be: one for each of these samples, or for all `stored` ones.
#[derive(Clone, Copy, Debug)]
pub struct LabelCount {
    /// Number of samples that are labelled.
    pub samples: usize,
    /// Number of samples that the set has.
    pub stored: usize,
}

impl LabelCount {
    /// True for so many labels.
    fn fits(self, found: usize) -> bool {
        (self.samples..=self.stored.max(self.samples)).contains(&found)
    }

    /// The refusal of another number of labels: of these, which are so many.
    fn refused(self, shown: impl std::fmt::Display, labels: &str, found: usize) -> DataError {
        let wanted = match found < self.samples {
            true => self.samples,
            false => self.stored,
        };
        DataError::new(
            Kind::Count,
            format!("{shown} has {labels} for {}", counted(wanted, "sample")),
        )
    }
}

/// True for labels that know their images by name, and so need not be as many as these.
pub fn labels_by_name(labels: &Path) -> bool {
    let is_text = |extension: &std::ffi::OsStr| ["csv", "txt"].iter().any(|text| extension.eq_ignore_ascii_case(text));
    are_folders(labels) || labels.extension().is_some_and(is_text)
}

/// True for classes of images that are the folders which these are in.
fn are_folders(labels: &Path) -> bool {
    labels == Path::new(FOLDERS)
}

impl Samples {
    /// The class of each sample, or of each group of samples: those of images by their names or folders
    /// ([`labels_by_name`]), and all others by [`read_labels`].
    ///
    /// # Errors
    /// Labels that cannot be read, are no classes, or are not as many as these.
    pub fn classes(&self, labels: &Path, names: &[&str], wanted: LabelCount) -> Result<Vec<u32>, DataError> {
        match (are_folders(labels), labels_by_name(labels)) {
            (true, _) => self.folder_classes(),
            (false, true) => self.named_classes(labels),
            (false, false) => read_labels(labels, names, wanted),
        }
    }
}
