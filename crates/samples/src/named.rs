//! Finds the classes of images from label files and folder names, and tells how images are read and which of them were
//! left out.

use std::{collections::BTreeMap, path::Path};

use crate::{
    error::{DataError, Kind},
    images::Images,
    listing::{Listing, read_text},
    samples::Samples,
};

/// How images are turned into samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageReading {
    /// Names and versions of the decoders.
    pub decoder: String,
    /// Names and versions of the libraries whose arithmetic is reproduced in resizing images and converting them to
    /// gray.
    pub arithmetic: Vec<String>,
}

impl Samples {
    /// How images are turned into samples; `None` if no input has images.
    pub fn reading(&self) -> Option<ImageReading> {
        let pipeline = self.images()?.pipeline();
        Some(ImageReading {
            decoder: strait_images::decoder().to_owned(),
            arithmetic: pipeline.arithmetic().into_iter().map(str::to_owned).collect(),
        })
    }

    /// The names, in order, of the images that were left out because they cannot be decoded.
    pub fn left_out(&self) -> &[String] {
        self.images().map_or(&[], |images| images.listing().left_out())
    }

    /// Returns the name of a sample's image, which is its path below the folder of the set. If several inputs have
    /// images, this is the image for the first of these inputs. Returns `None` if the samples are not images.
    pub fn image(&self, sample: usize) -> Option<&str> {
        Some(self.images()?.listing().names().get(sample)?.as_str())
    }

    /// Returns the class of each sample. It is the position of the image's folder among the folders of the set, which
    /// are sorted by name.
    ///
    /// # Errors
    /// The samples are not images, or an image is directly in the folder of the set.
    pub(crate) fn folder_classes(&self) -> Result<Vec<u32>, DataError> {
        let listing = self.listing("the folders of images are no labels of them")?;
        let class = |sample| {
            let class = listing.class(sample).and_then(|class| u32::try_from(class).ok());
            class.ok_or_else(|| {
                let message = format!(
                    "{} is in no folder that could be its class",
                    listing.path(sample).display()
                );
                DataError::new(Kind::Label, message).help("give `data` the folder that has a folder for each class")
            })
        };
        (0..self.count()).map(class).collect()
    }

    /// Reads the class of each sample from a label file. Each line has a name and a class, separated by a comma or a
    /// blank. The name is the image's file name, its path below the folder of the set, or the name of a folder that
    /// contains it. The first line may be a heading, which has no class.
    ///
    /// # Errors
    /// The samples are not images, the file cannot be read, a line is malformed, or an image has no line.
    pub(crate) fn named_classes(&self, file: &Path) -> Result<Vec<u32>, DataError> {
        let listing = self.listing("the labels are by name")?;
        let shown = file.display();
        let text = read_text(file)?;
        let mut classes: BTreeMap<&str, u32> = BTreeMap::new();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let parts = line.trim().rsplit_once([',', ' ', '\t']);
            let parsed = parts.and_then(|(name, class)| Some((name.trim(), class.trim().parse().ok()?)));
            match parsed {
                Some((name, class)) => {
                    if classes.insert(name, class).is_some_and(|before| before != class) {
                        let message = format!("line {number} of {shown} gives {name:?} a second class");
                        return Err(DataError::new(Kind::Label, message));
                    }
                }
                None if number == 1 => {}
                None => {
                    let short: String = line.chars().take(60).collect();
                    let message = format!("line {number} of {shown} is {short:?}, and is to be a name and a class");
                    return Err(DataError::new(Kind::Label, message));
                }
            }
        }
        let class = |sample| {
            let name = listing.name(sample);
            let parts = name.split('/').rev();
            let found = std::iter::once(name)
                .chain(parts)
                .find_map(|name| classes.get(name).copied());
            found.ok_or_else(|| DataError::new(Kind::Label, format!("{shown} has no class for {name}")))
        };
        (0..self.count()).map(class).collect()
    }

    fn listing(&self, labels: &str) -> Result<&Listing, DataError> {
        self.images().map(Images::listing).ok_or_else(|| {
            let message = format!("{labels}, and the samples are no images");
            DataError::new(Kind::Label, message).help("give the classes of arrays in an .npy, one for each sample")
        })
    }
}
