//! The codes of what can be wrong with samples. They are stable: programs act on them.

/// A file or folder cannot be read.
pub const FILE: &str = "D001";
/// The file is not what its name says, or it is cut short.
pub const FORMAT: &str = "D002";
/// The numbers are of a type that is not read.
pub const TYPE: &str = "D003";
/// The numbers are stored in an order that is not read.
pub const ORDER: &str = "D004";
/// A sample does not fit the model's input.
pub const SHAPE: &str = "D005";
/// There are no samples, too few of them, or not the same number for each input.
pub const COUNT: &str = "D006";
/// Data and inputs do not correspond by name.
pub const NAME: &str = "D007";
/// A sample contains NaN or infinity.
pub const NOT_FINITE: &str = "D008";
/// The preprocessing does not fit the samples.
pub const PREPROCESS: &str = "D009";
/// A label is not a class.
pub const LABEL: &str = "D010";
