//! Labels of samples: classes, boxes of objects, and arrays such as masks and reference outputs.

mod arrays;
mod boxes;
mod coco;
mod object;

use std::path::Path;

use strait_core::counted;

use crate::{
    error::{DataError, Kind},
    names::extension,
    samples::Samples,
};

pub use arrays::{label_array, read_labels};
pub use boxes::{MOST_CLASSES, read_boxes};
pub use object::Object;

/// The word that a configuration has instead of a label file if the class of an image is its folder.
pub const FOLDERS: &str = "folders";

/// The number of labels that a file must have: one for each sample that is used, or one for each sample of the whole
/// set.
#[derive(Clone, Copy, Debug)]
pub struct LabelCount {
    /// Number of samples that need a label.
    pub samples: usize,
    /// Number of samples in the whole set.
    pub stored: usize,
}

impl LabelCount {
    /// True if this number of labels is right.
    fn fits(self, found: usize) -> bool {
        (self.samples..=self.stored.max(self.samples)).contains(&found)
    }

    /// The error for a wrong number of labels.
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

/// True if the labels in the file refer to images by name. Their number then does not have to match the number of
/// samples.
pub fn labels_by_name(labels: &Path) -> bool {
    are_folders(labels) || matches!(extension(labels).as_str(), "csv" | "txt")
}

/// True if the class of an image is its folder.
fn are_folders(labels: &Path) -> bool {
    labels == Path::new(FOLDERS)
}

impl Samples {
    /// Reads the class of each sample, or of each group of samples. The classes of images may be given by the names or
    /// folders of the images ([`labels_by_name`]). All other labels are read by [`read_labels`].
    ///
    /// # Errors
    /// Labels cannot be read or are not classes, or their number does not match.
    pub fn classes(&self, labels: &Path, names: &[&str], wanted: LabelCount) -> Result<Vec<u32>, DataError> {
        match (are_folders(labels), labels_by_name(labels)) {
            (true, _) => self.folder_classes(),
            (false, true) => self.named_classes(labels),
            (false, false) => read_labels(labels, names, wanted),
        }
    }
}
