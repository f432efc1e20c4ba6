//! Names of files in an artifact.

use std::path::{Path, PathBuf};

/// The longest name, in bytes.
const MAX_LENGTH: usize = 512;

/// True if a name stays inside the folder and means the same on every system: parts of ASCII letters, digits and
/// `._-+`, separated by `/`. No part is empty, starts with a dot (`.`, `..`, hidden files) or ends with one.
pub(crate) fn is_file_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let letters = part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b));
        letters && !part.is_empty() && !part.starts_with('.') && !part.ends_with('.')
    };
    name.len() <= MAX_LENGTH && name.split('/').all(is_part)
}

/// The place of a file in a folder, part by part, so that the separator is the system's.
pub(crate) fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(name.split('/').collect::<PathBuf>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_folder() {
        for name in ["model.strait", "a/b-c/d_1.onnx", "report.json", "x+y"] {
            assert!(is_file_name(name), "{name}");
        }
        let long = "a".repeat(MAX_LENGTH + 1);
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/../b",
            "/etc/passwd",
            "a//b",
            "a/",
            "C:x",
            "a\\b",
            ".hidden",
            "a/.b",
            "a.",
            "a b",
            "é",
            "a\0b",
            &long,
        ] {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
