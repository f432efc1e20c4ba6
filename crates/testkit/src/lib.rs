//! Expectations of tests that stand in files. `cargo xtask bless` runs the tests with `STRAIT_BLESS=1`, and each writes what it found.

use std::{env, fs, path::Path};

/// True where tests write what they found instead of holding it against what is expected.
pub fn is_blessing() -> bool {
    env::var_os("STRAIT_BLESS").is_some()
}

/// Holds what a test found against a file of this path in the repository, from its top folder; or writes it there.
///
/// # Panics
/// Where they differ, with the first line that does, and where the file cannot be written.
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
        super::is_current("crates/testkit/Cargo.toml", "[other]\n");
    }
}
