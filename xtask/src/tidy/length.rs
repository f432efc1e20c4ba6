//! Check that a person can read each file in one sitting, and that no file in the repository is too large.

use super::{Findings, Repository};

const MOST_LINES: usize = 600;
const MOST_BYTES: usize = 400_000;

/// Files that programs write, and which may have any length. For example, a page with a section for each rule grows
/// with the number of rules.
const GENERATED: &[&str] = &["Cargo.lock", "docs/codes.md", "docs/rules.md"];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for file in &repository.files {
        if file.bytes > MOST_BYTES {
            findings.add(
                &file.path,
                format!(
                    "{} kB; at most {} go into the repository",
                    file.bytes / 1000,
                    MOST_BYTES / 1000
                ),
            );
        }
        let is_prose_or_code = [".rs", ".py", ".md", ".toml"]
            .iter()
            .any(|end| file.path.ends_with(end));
        let lines = file.lines().count();
        if is_prose_or_code && lines > MOST_LINES && !GENERATED.contains(&file.path.as_str()) {
            findings.add(
                &file.path,
                format!("{lines} lines; at most {MOST_LINES} can be read in one sitting"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn long_and_large_files_are_found() {
        let about = |path: &str, text: &str| {
            findings(check, &[(path, text)])
                .into_iter()
                .filter(|f| f.starts_with("crates/a"))
                .count()
        };
        assert_eq!(about("crates/a.rs", &"x\n".repeat(601)), 1);
        assert_eq!(about("crates/a.rs", &"x\n".repeat(600)), 0);
        assert_eq!(about("crates/a.bin", &"x\n".repeat(601)), 0);
        assert_eq!(about("crates/a.bin", &"x".repeat(400_001)), 1);
    }
}
