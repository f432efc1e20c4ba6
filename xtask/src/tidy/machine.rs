//! Check that nothing in the repository shows on which machine it was written, or from where its packages were
//! downloaded.

use super::{Findings, Repository};

/// Folders at the top of a file system in which users have their own files. An absolute path that starts with such a
/// folder is only right on one machine.
const PERSONAL: &[&str] = &["home", "root", "Users", "work", "workspace", "builds"];

/// Hosts from which packages are downloaded. The repository must not depend on the host that a machine uses.
const PACKAGE_HOSTS: &[&str] = &[
    "files.pythonhosted.org",
    "pypi.org/simple",
    "static.crates.io",
    "index.crates.io",
];

/// The only source of packages that Cargo.lock may name.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The path of this file, which is not checked because it has to contain the texts that it looks for.
const ITSELF: &str = "xtask/src/tidy/machine.rs";

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for file in repository.files.iter().filter(|file| file.path != ITSELF) {
        for (number, line) in file.lines() {
            if let Some(folder) = PERSONAL.iter().find(|folder| starts_a_path(line, folder)) {
                findings.at(
                    &file.path,
                    number,
                    format!("a path below /{folder} is right on one machine only"),
                );
            }
            if let Some(host) = PACKAGE_HOSTS.iter().find(|host| line.contains(**host)) {
                findings.at(
                    &file.path,
                    number,
                    format!("{host}: where packages come from is the machine's matter"),
                );
            }
            let source = line
                .trim()
                .strip_prefix("source = ")
                .map(|source| source.trim_matches('"'));
            if file.path == "Cargo.lock" && source.is_some_and(|source| source != REGISTRY) {
                findings.at(&file.path, number, format!("{line}: only the public registry"));
            }
        }
        if file.path.ends_with(".cargo/config.toml") && file.lines().any(|(_, line)| line.starts_with("[source")) {
            findings.add(
                &file.path,
                "replaces the package source: that belongs into a user's own configuration",
            );
        }
    }
}

/// True if the line contains an absolute path below this folder. `a/home/b` and `https://host/home/` do not count.
fn starts_a_path(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '/' | '}'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in PERSONAL {
            for line in [
                format!("cd /{folder}/main"),
                format!("`/{folder}/.cargo`"),
                format!("\"/{folder}/me\""),
            ] {
                assert_eq!(findings(check, &[("README.md", &line)]).len(), 1, "{line}");
            }
            for line in [
                format!("https://example.org/{folder}/paper"),
                format!("../{folder}/x"),
                format!("my{folder}/"),
            ] {
                assert_eq!(findings(check, &[("README.md", &line)]), [""; 0], "{line}");
            }
        }
    }

    #[test]
    fn other_registries_are_found() {
        let lock = |source: &str| format!("[[package]]\nname = \"serde\"\nsource = \"{source}\"\n");
        assert_eq!(findings(check, &[("Cargo.lock", &lock(REGISTRY))]), [""; 0]);
        assert_eq!(
            findings(check, &[("Cargo.lock", &lock("registry+https://mirror.example/index"))]).len(),
            1
        );
        assert_eq!(
            findings(
                check,
                &[(".cargo/config.toml", "[source.crates-io]\nreplace-with = \"x\"\n")]
            )
            .len(),
            1
        );
    }
}
