//! Check which names may occur where.
//!
//! `core` must not name any target, model format or dynamic library, so that nothing in it can depend on one of them.
//! Outside `targets/`, no code may contain a target's id as a string, so that no code can compare ids. `builtin` only
//! names the crates of targets.

use super::source::words;
use super::{Findings, Repository};

/// Words that may not occur in core's code or string literals. In comments they are allowed, for example to say which
/// tool a rule was modelled on.
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

/// The ids of the targets in the repository, read from their tables.
fn target_ids(repository: &Repository) -> Vec<&str> {
    let tables = (repository.files.iter())
        .filter(|file| file.path.starts_with("targets/") && file.path.ends_with("/target.toml"));
    tables
        .filter_map(|table| table.lines().find_map(|(_, line)| id(line)))
        .collect()
}

fn id(line: &str) -> Option<&str> {
    let value = line.strip_prefix("id")?.trim_start().strip_prefix('=')?;
    value.trim().strip_prefix('"')?.strip_suffix('"')
}

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    let target_ids = target_ids(repository);
    for (room, file, source) in repository.sources_of_crates() {
        for (number, line) in source.product() {
            if source.excused(number, "names") {
                continue;
            }
            let texts = line.strings.iter().map(|text| text.replace('-', "_"));
            let everything = texts.chain([line.code.clone()]).collect::<Vec<_>>().join(" ");
            if let Some(word) = words(&everything).find(|word| room == "core" && FOREIGN_TO_CORE.contains(word)) {
                findings.at(&file.path, number, format!("core must not know `{word}`"));
            }
            if let Some(id) = line
                .strings
                .iter()
                .find(|text| room != "core" && target_ids.contains(&text.as_str()))
            {
                findings.at(
                    &file.path,
                    number,
                    format!("the target id \"{id}\" belongs to targets/: ask the table or the trait"),
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
        let table = ("targets/sima-mla/target.toml", "schema = 1\nid      = \"sima\"\n");
        assert_eq!(findings(check, &[table, ("crates/lower/src/a.rs", line)]).len(), 1);
        let unknown = "if target.id() == \"other\" {}";
        assert_eq!(findings(check, &[table, ("crates/lower/src/a.rs", unknown)]), [""; 0]);
        for path in ["targets/sima/src/lib.rs", "crates/lower/tests/a.rs", "tests/tests/a.rs"] {
            assert_eq!(findings(check, &[table, (path, line)]), [""; 0], "{path}");
        }
        assert_eq!(
            findings(check, &[table, ("crates/cli/src/a.rs", "help(\"such as sima\")")]),
            [""; 0]
        );
    }
}
