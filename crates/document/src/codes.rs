//! Codes of errors in documents. A code never changes its meaning, because programs depend on it.

/// Declares the codes of a group: a constant for each code, and the list of all of them.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)*) => {
        $($(#[doc = $doc])+ pub const $name: &str = $code;)*

        /// Every code with its meaning, in the order of this list.
        pub const ALL: &[(&str, &str)] = &[$(($code, concat!($($doc),+))),*];
    };
}

codes! {
    /// The file cannot be read: it does not exist, is too large, or is not UTF-8.
    FILE = "C001";
    /// The text is not TOML.
    SYNTAX = "C002";
    /// There is no such key.
    UNKNOWN_KEY = "C003";
    /// The value does not have the type that the key requires.
    TYPE = "C004";
    /// The value has the right type, but is not one of the values that the key allows.
    VALUE = "C005";
    /// A number, or the length of a list, is outside of its limits.
    RANGE = "C006";
    /// A required key is missing.
    MISSING = "C007";
    /// The file is written for a newer version of Strait.
    SCHEMA = "C008";
    /// An argument of the command line that sets a key cannot be understood, or cannot be applied.
    ARGUMENT = "C009";
    /// Keys contradict each other.
    CONFLICT = "C010";
    /// The preprocessing of a configuration is not possible as written.
    PREPROCESS = "C011";
    /// A defect in Strait: a document passed the check, but serde cannot read it.
    DEFECT = "C999";
}
