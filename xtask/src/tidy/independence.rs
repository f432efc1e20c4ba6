//! Check that the verifier makes its decisions by itself. From `requantize` it may only use code that defines what a
//! step computes, and no code that makes decisions about steps.
//!
//! It may share `eval`, the domains and data types. If the verifier shared more code with the compiler, a bug in the
//! compiler's decisions would also be a bug in the verifier.

use super::source::words;
use super::{Findings, Repository};

/// Modules and functions of `requantize` that make decisions, with the names that occur in paths and imports.
const DECISIONS: &[&str] = &["decide", "range", "compare", "compose", "thresholds", "to_steps"];

/// Names of `requantize` that make decisions and occur in no other crate, so that they are found even without a path.
const NAMES: &[&str] = &["Thresholds", "DecideError", "least_reaching", "is_identity"];

/// Functions that the verifier may not call although it may use their types as data.
const FUNCTIONS: &[&str] = &["Certificate::derive", "Certificate::of_entries"];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        if !file.path.starts_with("crates/verify/src/") {
            continue;
        }
        // An import may go over several lines. Any other path ends on its line.
        let mut importing = false;
        for (number, line) in source.product() {
            let code = line.code.as_str();
            importing |=
                code.trim_start().starts_with("use strait_requantize") || code.contains(" use strait_requantize");
            let of_requantize = if importing {
                code
            } else {
                code.split_once("strait_requantize::").map_or("", |(_, path)| path)
            };
            let decision = words(of_requantize).find(|word| DECISIONS.contains(word));
            let name = words(code).find(|word| NAMES.contains(word));
            let function = FUNCTIONS.iter().copied().find(|function| code.contains(function));
            if let Some(word) = decision.or(name).or(function) {
                let text = format!(
                    "`{word}` is how the compiler decides; the verifier has its own: crates/verify/src/functions"
                );
                findings.at(&file.path, number, text);
            }
            importing &= !code.contains(';');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::testing::findings;

    #[test]
    fn the_verifier_takes_no_decision_from_the_compiler() {
        for code in [
            "use strait_requantize::decide::difference;",
            "use strait_requantize::{\n    Argument, Step,\n    compare,\n};",
            "let found = strait_requantize::compare(a, b, 0, ends);",
            "pub(crate) use strait_requantize::range;",
            "let thresholds = requantize::Thresholds::of(a, 0, ends);",
            "let first = channel.least_reaching(3);",
            "let derived = Certificate::derive(argument, before, after, interval);",
        ] {
            let found = findings(check, &[("crates/verify/src/a.rs", code)]);
            assert_eq!(found.len(), 1, "{code}");
            assert_eq!(findings(check, &[("crates/lower/src/a.rs", code)]), [""; 0], "{code}");
        }
    }

    #[test]
    fn what_defines_a_step_and_what_tests_compare_with_is_shared() {
        for code in [
            "use strait_requantize::{Certificate, Step, form::Channel};\nfn compare() {}",
            "// as decide::compare of strait_requantize does",
            "#[cfg(test)]\nmod tests {\n    use strait_requantize::compare;\n}",
        ] {
            assert_eq!(findings(check, &[("crates/verify/src/a.rs", code)]), [""; 0], "{code}");
        }
    }
}
