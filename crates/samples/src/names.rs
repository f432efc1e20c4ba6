//! Makes file names from the names of tensors, and finds the extensions of file names.

use std::{fmt::Write as _, path::Path};

/// Replaces every byte of `name`, except letters, digits, `.`, `_` and `-`, by `%` and two hexadecimal digits.
/// Different names stay different, and no result contains a `/`: `/model.22/a:0` becomes `%2Fmodel.22%2Fa%3A0`.
pub fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => escaped.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => _ = write!(escaped, "%{byte:02X}"),
        }
    }
    escaped
}

/// The extension of a file's name in lower case, or nothing.
pub(crate) fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_stay_different_and_none_is_a_path() {
        for (name, expected) in [
            ("input", "input"),
            ("/model.22/a:0", "%2Fmodel.22%2Fa%3A0"),
            ("%2F", "%252F"),
            ("a b\\c", "a%20b%5Cc"),
            ("ü", "%C3%BC"),
        ] {
            assert_eq!(escape(name), expected);
        }
    }
}
