//! Codes of errors in documents. A code never changes its meaning, because programs depend on it.

/// The file cannot be read: it does not exist, is too large, or is not UTF-8.
pub const FILE: &str = "C001";
/// The text is not TOML.
pub const SYNTAX: &str = "C002";
/// There is no such key.
pub const UNKNOWN_KEY: &str = "C003";
/// The value does not have the type that the key requires.
pub const TYPE: &str = "C004";
/// The value has the right type, but is not one of the values that the key allows.
pub const VALUE: &str = "C005";
/// A number, or the length of a list, is outside of its limits.
pub const RANGE: &str = "C006";
/// A required key is missing.
pub const MISSING: &str = "C007";
/// The file is written for a newer version of Strait.
pub const SCHEMA: &str = "C008";
/// An argument of the command line that sets a key cannot be understood, or cannot be applied.
pub const ARGUMENT: &str = "C009";
/// Keys contradict each other.
pub const CONFLICT: &str = "C010";
/// The preprocessing of a configuration is not possible as written.
pub const PREPROCESS: &str = "C011";
/// A defect in Strait: a document passed the check, but serde cannot read it.
pub const DEFECT: &str = "C999";
