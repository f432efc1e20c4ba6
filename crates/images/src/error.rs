//! Errors of decoding and transforming images.

/// Why an image cannot be used, or a step cannot be applied to it. The fault is in the file or in the steps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The first bytes are neither those of a PNG nor those of a JPEG.
    #[error("it is neither PNG nor JPEG")]
    Unknown,
    /// The content of the file is truncated or corrupt.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The file uses a variant of the format that this decoder does not support.
    #[error("{0} is not read")]
    Unsupported(&'static str),
    /// The image has more pixels than allowed.
    #[error("it has {width}×{height} pixels, and {most} are the most")]
    TooLarge {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
        /// The largest number of pixels allowed.
        most: usize,
    },
    /// A crop is larger than the image.
    #[error("{}×{} pixels are to be cut out of it, and there it has {}×{}", size[0], size[1], found[0], found[1])]
    Crop {
        /// Width and height of the crop.
        size: [usize; 2],
        /// Width and height of the image.
        found: [usize; 2],
    },
    /// A step converts to gray, but the image is already gray.
    #[error("`gray` needs three channels, and there is one")]
    IsGray,
}
