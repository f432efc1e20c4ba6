//! The errors of images.

/// An image that cannot be used, or a step that cannot be done to it. The fault is the file's, or that of the steps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The first bytes are those of neither format.
    #[error("it is neither PNG nor JPEG")]
    Unknown,
    /// The content is cut short or garbled.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A kind of file that is not read.
    #[error("{0} is not read")]
    Unsupported(&'static str),
    /// More pixels than an image may have.
    #[error("it has {width}×{height} pixels, and {most} are the most")]
    TooLarge {
        /// Pixels of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// The most pixels.
        most: usize,
    },
    /// A part is to be cut out of an image that is smaller.
    #[error("{}×{} pixels are to be cut out of it, and there it has {}×{}", size[0], size[1], found[0], found[1])]
    Crop {
        /// Width and height that are wanted.
        size: [usize; 2],
        /// Width and height that are there.
        found: [usize; 2],
    },
    /// One channel is to be made of one.
    #[error("`gray` needs three channels, and there is one")]
    IsGray,
}
