//! Expectations of tests that are kept in files. `cargo xtask bless` runs the tests with `STRAIT_BLESS=1`; each test
//! then writes what it found.

use std::{env, fs, path::Path};

/// True if tests should write what they found instead of comparing it with the expectation.
pub fn is_blessing() -> bool {
    env::var_os("STRAIT_BLESS").is_some()
}

/// Compares what a test found with the file at this path in the repository, or writes the file when blessing.
///
/// # Panics
/// If the two differ, or if the file cannot be written.
#[track_caller]
#[allow(clippy::panic, reason = "a test may panic")]
pub fn is_current(path: &str, found: &str) {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path);
    if is_blessing() {
        fs::write(&file, found).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    // A checkout may have other line ends.
    let expected = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    if let Some(difference) = difference(&expected, found) {
        panic!("{path}, {difference}\nif it is meant, run `cargo xtask bless`");
    }
}

/// Describes the first line in which two texts differ. `None` if they are equal.
fn difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let same = expected.lines().zip(found.lines()).take_while(|(old, new)| old == new);
    let line = same.count();
    let [old, new] = [expected, found].map(|text| text.lines().nth(line).unwrap_or("(the end)"));
    Some(format!("line {}: expected\n  {old}\nand found\n  {new}", line + 1))
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn another_text_is_told_by_the_first_line_that_differs() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let told = difference("a\nb\n", "a\nc\n");
        assert_eq!(told.as_deref(), Some("line 2: expected\n  b\nand found\n  c"));
        let told = difference("a\n", "a\nb\n");
        assert_eq!(told.as_deref(), Some("line 2: expected\n  (the end)\nand found\n  b"));
    }
}
