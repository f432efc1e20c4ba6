//! Check that each file of tests is part of a test program. If a manifest says `autotests = false` or lists its test
//! programs, cargo does not search for files with tests. Then a file that is not named anywhere would never be
//! compiled.

use super::{Findings, Repository};

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for manifest in super::arrows::manifests(repository) {
        let folder = manifest.path.strip_suffix("Cargo.toml").unwrap_or_default();
        let programs: Vec<String> = manifest
            .lines()
            .filter_map(|(_, line)| Some(line.strip_prefix("path = \"")?.strip_suffix('"')?.to_owned()))
            .map(|path| format!("{folder}{path}"))
            .collect();
        let names_all = manifest.lines().any(|(_, line)| line == "autotests = false");
        if !names_all && folder != "tests/" {
            continue;
        }
        let tests = match folder {
            "tests/" => folder.to_owned(),
            _ => format!("{folder}tests/"),
        };
        for file in &repository.files {
            let Some(name) = file.path.strip_prefix(&tests) else {
                continue;
            };
            let module = match name.split('/').collect::<Vec<_>>()[..] {
                [file] => file.strip_suffix(".rs"),
                [folder, "main.rs"] => Some(folder),
                _ => None,
            };
            let Some(module) = module.filter(|_| !programs.contains(&file.path)) else {
                continue;
            };
            let line = format!("mod {module};");
            let is_named = (repository.files.iter())
                .filter(|file| programs.contains(&file.path))
                .any(|program| program.lines().any(|(_, found)| found == line));
            if !is_named {
                findings.add(
                    &file.path,
                    format!("no program of tests has it: `{line}` belongs into the one beside it"),
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
    fn a_file_that_no_program_names_is_found() {
        let manifest = "[package]\nautotests = false\n[[test]]\nname = \"all\"\npath = \"tests/all.rs\"\n";
        let files = [
            ("crates/x/Cargo.toml", manifest),
            (
                "crates/x/tests/all.rs",
                "mod support;\nmod one;\n#[path = \"two/main.rs\"]\nmod two;\n",
            ),
            ("crates/x/tests/one.rs", ""),
            ("crates/x/tests/two/main.rs", ""),
            ("crates/x/tests/two/part.rs", ""),
            ("crates/x/tests/support/mod.rs", ""),
            ("crates/x/tests/three.rs", ""),
            ("crates/x/tests/four/main.rs", ""),
        ];
        let found = findings(check, &files);
        let paths: Vec<&str> = found.iter().filter_map(|found| found.split(':').next()).collect();
        assert_eq!(paths, ["crates/x/tests/three.rs", "crates/x/tests/four/main.rs"]);
    }

    #[test]
    fn where_cargo_looks_for_files_nothing_is_asked() {
        let files = [("crates/x/Cargo.toml", "[package]\n"), ("crates/x/tests/one.rs", "")];
        assert_eq!(findings(check, &files), [""; 0]);
    }
}
