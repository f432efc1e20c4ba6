//! Codes of errors in documents. They never change, because programs depend on them.

/// The file cannot be read: absent, too large, not UTF-8.
pub const FILE: &str = "C001";
/// The text is not TOML.
pub const SYNTAX: &str = "C002";
/// There is no such key.
pub const UNKNOWN_KEY: &str = "C003";
/// The value is of another type than the key takes.
pub const TYPE: &str = "C004";
/// The value is of the right type, but not one of those that the key takes.
pub const VALUE: &str = "C005";
/// A number, or the length of a list, is outside its limits.
pub const RANGE: &str = "C006";
/// A required key is missing.
pub const MISSING: &str = "C007";
/// The file is written for a newer version of Strait.
pub const SCHEMA: &str = "C008";
/// An argument of the command line that sets a key cannot be understood or applied.
pub const ARGUMENT: &str = "C009";
/// Keys that cannot be combined.
pub const CONFLICT: &str = "C010";
/// The preprocessing of a configuration is not possible as written.
pub const PREPROCESS: &str = "C011";
/// A defect in Strait: a document passed the check but cannot be read.
pub const DEFECT: &str = "C999";
