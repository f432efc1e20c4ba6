//! Images as the samples of one input.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use sha2::{Digest as _, Sha256};
use strait_images::{ImageError, MOST_BYTES, Pipeline, decoder};

use crate::digest::text;
use crate::{
    error::{DataError, Kind},
    listing::Listing,
    marks::{self, Mark, Marks},
};

/// Images are decoded in groups of this size. After each group, the readable images are counted.
const AT_ONCE: usize = 256;

/// The stack size of a thread in bytes. The environment variable `RUST_MIN_STACK` does not change it.
const STACK: usize = 2 << 20;

/// The images for one input.
#[derive(Debug)]
pub(crate) struct Images {
    listing: Listing,
    pipeline: Pipeline,
    /// Height, width and channels of each image.
    shape: [usize; 3],
}

impl Images {
    /// Prepares the images of a listing. After the pipeline, all images have the same size. If the steps of the
    /// pipeline do not determine this size, it is the size of the first image that can be decoded.
    pub(crate) fn new(listing: Listing, pipeline: &Pipeline, skips: bool) -> Result<Images, DataError> {
        let (size, channels) = pipeline.size();
        let mut images = Images {
            listing,
            pipeline: pipeline.clone(),
            shape: [0, 0, channels],
        };
        let first = |image| images.pixels(image).ok().map(|pixels| [pixels.width, pixels.height]);
        let [width, height] = match size {
            Some(size) => size,
            None if skips => (0..images.count()).find_map(first).unwrap_or_default(),
            None => images.pixels(0).map(|pixels| [pixels.width, pixels.height])?,
        };
        images.shape = [height, width, channels];
        Ok(images)
    }

    pub(crate) fn count(&self) -> usize {
        self.listing.count()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn listing(&self) -> &Listing {
        &self.listing
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The name of the first image.
    pub(crate) fn first(&self) -> &str {
        self.listing.name(0)
    }

    pub(crate) fn path(&self, image: usize) -> PathBuf {
        self.listing.path(image)
    }

    /// Returns the pixel values of an image after all preprocessing steps, with rows from top to bottom.
    ///
    /// # Errors
    /// A file cannot be read or decoded, its bytes do not match its hash in `marks`, or the image has another size
    /// after the steps.
    pub(crate) fn read(&self, image: usize, marks: Marks<'_>) -> Result<Vec<u8>, DataError> {
        let pixels = self.pixels_of(image, marks)?;
        let found = [pixels.height, pixels.width, pixels.channels];
        if found == self.shape {
            return Ok(pixels.levels);
        }
        let [height, width, _] = self.shape;
        let message = format!(
            "{} has {}×{} pixels, and {} has {width}×{height}",
            self.path(image).display(),
            pixels.width,
            pixels.height,
            self.path(0).display()
        );
        let help = "make one size of them with a step such as { resize = { size = [224, 224] } } in [preprocess]";
        Err(DataError::new(Kind::Shape, message).help(help))
    }

    fn pixels(&self, image: usize) -> Result<strait_images::Pixels, DataError> {
        self.pixels_of(image, &[])
    }

    fn pixels_of(&self, image: usize, marks: Marks<'_>) -> Result<strait_images::Pixels, DataError> {
        let path = self.path(image);
        let bytes = read_bytes(&path)?;
        marks::hold(&bytes, image, marks, || path.display().to_string())?;
        self.pipeline.run(&bytes).map_err(|error| refused(&path, &error))
    }

    /// Returns the indices of the images that cannot be decoded. Images are decoded in order until `most` readable
    /// images are found; if `most` is `None`, all images are decoded. This uses all processors.
    pub(crate) fn unreadable(&self, most: Option<usize>) -> Vec<usize> {
        let (mut found, mut begin) = (Vec::new(), 0);
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        while begin < self.count() && most.is_none_or(|most| begin - found.len() < most) {
            let end = self.count().min(begin + AT_ONCE);
            let next = AtomicUsize::new(begin);
            let look = || {
                let mut found = Vec::new();
                loop {
                    match next.fetch_add(1, Ordering::Relaxed) {
                        image if image >= end => return found,
                        image => {
                            let read = self.pixels(image);
                            let is_unreadable = |error: DataError| [Kind::File, Kind::Format].contains(&error.kind);
                            if read.err().is_some_and(is_unreadable) {
                                found.push(image);
                            }
                        }
                    }
                }
            };
            let mut more: Vec<usize> = thread::scope(|scope| {
                // This thread decodes images, too. If no other thread can be started, it decodes all of them.
                let start = |_| {
                    let thread = thread::Builder::new().stack_size(STACK);
                    thread.spawn_scoped(scope, look).ok()
                };
                let workers: Vec<_> = (1..threads).map_while(start).collect();
                let here = look();
                let there = workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default());
                there.chain(here).collect()
            });
            more.sort_unstable();
            found.extend(more);
            begin = end;
        }
        found
    }

    /// Leaves out the images at these positions, which are in ascending order.
    pub(crate) fn leave_out(&mut self, images: &[usize]) {
        self.listing.leave_out(images);
    }

    /// Adds the first `count` images to a hash: the bytes of their files, the decoder, and the steps that are applied
    /// to the images. Returns the mark of each file, which is a hash of its bytes.
    pub(crate) fn digest(&self, count: usize, hasher: &mut Sha256) -> Result<Vec<Mark>, DataError> {
        text(hasher, decoder());
        text(hasher, &self.pipeline.arithmetic().join(", "));
        text(hasher, &format!("{:?} {:?}", self.pipeline, self.shape));
        let each = (0..count.min(self.count())).map(|image| {
            let bytes = read_bytes(&self.path(image))?;
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
            Ok(marks::mark(&bytes))
        });
        each.collect()
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    strait_mapped::read(path, MOST_BYTES).map_err(|error| DataError::unreadable(path, error))
}

fn refused(path: &Path, error: &ImageError) -> DataError {
    let shown = path.display();
    match error {
        ImageError::Crop { .. } => DataError::new(Kind::Shape, format!("{shown} cannot be cropped: {error}"))
            .help("make it larger in front of `crop` with a step `resize` in [preprocess]"),
        ImageError::IsGray => DataError::new(Kind::Preprocess, format!("{shown}: {error}")),
        ImageError::Unknown | ImageError::Damaged(_) | ImageError::Unsupported(_) | ImageError::TooLarge { .. } => {
            DataError::new(Kind::Format, format!("{shown} cannot be decoded: {error}"))
                .help("leave the image out, or have all such left out: unreadable = \"skip\" in the table of the data")
        }
    }
}
