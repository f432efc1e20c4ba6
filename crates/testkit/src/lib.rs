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
    if expected == found {
        return;
    }
    let same = expected.lines().zip(found.lines()).take_while(|(old, new)| old == new);
    let line = same.count();
    let [old, new] = [&expected, found].map(|text| text.lines().nth(line).unwrap_or("(the end)"));
    panic!(
        "{path}, line {}: expected\n  {old}\nand found\n  {new}\nif it is meant, run `cargo xtask bless`",
        line + 1
    );
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "line 1: expected")]
    fn another_text_is_told_by_its_first_line() {
        // A run that blesses must not write over the file.
        assert!(std::env::var_os("STRAIT_BLESS").is_none(), "line 1: expected");
        super::is_current("crates/testkit/Cargo.toml", "[other]\n");
    }
}
