//! Who may know whom by name.
//!
//! `core` names no target, no model format and no dynamic library: it would be the first step to an `if` on them.
//! Outside `plugins/` nobody compares a target's id, so nobody has it as a string; `builtin` names the crates only.

use super::source::words;
use super::{Findings, Repository};

/// Words that have no place in core's code or string literals; comments may say what a rule was made after.
const FOREIGN_TO_CORE: &[&str] = &[
    "sima",
    "ascend",
    "generic_int8",
    "onnx",
    "ONNX",
    "tflite",
    "TFLite",
    "tensorflow",
    "TensorFlow",
    "libloading",
    "dlopen",
];

const TARGET_IDS: &[&str] = &["sima", "ascend", "generic-int8"];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        let Some((room, inside)) = file.in_crate() else {
            continue;
        };
        if !inside.starts_with("src/") {
            continue;
        }
        for (number, line) in source.product() {
            if source.excused(number, "names") {
                continue;
            }
            let texts = line.strings.iter().map(|text| text.replace('-', "_"));
            let everything = texts.chain([line.code.clone()]).collect::<Vec<_>>().join(" ");
            if let Some(word) = words(&everything).find(|word| room == "core" && FOREIGN_TO_CORE.contains(word)) {
                findings.add(&file.path, Some(number), format!("core must not know `{word}`"));
            }
            if let Some(id) = line
                .strings
                .iter()
                .find(|text| room != "core" && TARGET_IDS.contains(&text.as_str()))
            {
                findings.add(
                    &file.path,
                    Some(number),
                    format!("the target id \"{id}\" belongs to plugins/: ask the table or the trait"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn core_knows_neither_target_nor_format() {
        for line in [
            "use onnx::x;",
            "if t == \"sima\" {}",
            "let a = \"the generic-int8 target\";",
        ] {
            assert_eq!(findings(check, &[("crates/core/src/a.rs", line)]).len(), 1, "{line}");
        }
        for line in [
            "// as in ONNX",
            "let maximal = simalike;",
            "#[cfg(test)]\nmod tests {\n \"sima\"\n}",
        ] {
            assert_eq!(findings(check, &[("crates/core/src/a.rs", line)]), [""; 0], "{line}");
        }
    }

    #[test]
    fn nobody_compares_a_target_id() {
        let line = "if target.id() == \"sima\" {}";
        assert_eq!(findings(check, &[("crates/lower/src/a.rs", line)]).len(), 1);
        for path in ["plugins/sima/src/lib.rs", "crates/lower/tests/a.rs", "tests/tests/a.rs"] {
            assert_eq!(findings(check, &[(path, line)]), [""; 0], "{path}");
        }
        assert_eq!(
            findings(check, &[("crates/cli/src/a.rs", "help(\"such as sima\")")]),
            [""; 0]
        );
    }
}
