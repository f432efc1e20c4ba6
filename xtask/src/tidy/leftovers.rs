//! Check that nothing is half done: there must be no macro that stands for missing code, no comment that promises to
//! add code later, and no test that is disabled without a reason.

use super::source::words;
use super::{Findings, Repository};

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        for (number, line) in source.numbered() {
            for (mark, name) in [("todo", "todo!"), ("unimplemented", "unimplemented!")] {
                if line.code.contains(name) && words(&line.code).any(|word| word == mark) {
                    findings.at(&file.path, number, format!("{name} is left in the code"));
                }
            }
            if words(&line.comment).any(|word| matches!(word, "FIXME" | "XXX" | "TODO")) {
                findings.at(&file.path, number, "an open end: do it, or open an issue");
            }
            if line.code.contains("#[ignore]") {
                findings.at(&file.path, number, "an ignored test needs a reason: #[ignore = \"…\"]");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn what_is_half_done_is_found() {
        for line in [
            "todo!()",
            "x => unimplemented!(\"y\")",
            "a // FIXME later",
            "/// TODO: more",
            "#[ignore]",
        ] {
            assert_eq!(findings(check, &[("crates/core/src/a.rs", line)]).len(), 1, "{line}");
        }
        for line in [
            "let todo = 1;",
            "\"todo!\"",
            "#[ignore = \"needs hardware\"]",
            "// what is to do",
        ] {
            assert_eq!(findings(check, &[("crates/core/src/a.rs", line)]), [""; 0], "{line}");
        }
    }
}
