//! Check that every package uses the workspace's lints and is described in ARCHITECTURE.md.

use super::arrows::manifests;
use super::{Findings, Repository};

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    let architecture = repository.file("ARCHITECTURE.md").and_then(|file| file.text.as_deref());
    if architecture.is_none() {
        findings.add("ARCHITECTURE.md", "is missing");
    }
    for manifest in manifests(repository) {
        let text = manifest.text.as_deref().unwrap_or_default();
        if !text.contains("[lints]\nworkspace = true") {
            findings.add(&manifest.path, "has no `[lints] workspace = true`");
        }
        // ARCHITECTURE.md names a package by the last part of its folder, such as `core/`, `sima/` or `xtask/`.
        let room = manifest.path.rsplit('/').nth(1).unwrap_or_default();
        if architecture.is_some_and(|text| !text.contains(&format!("{room}/")) && !text.contains(&format!("`{room}`")))
        {
            findings.add(&manifest.path, format!("ARCHITECTURE.md does not mention `{room}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    const GOOD: &str = "[package]\nname = \"strait-core\"\n\n[lints]\nworkspace = true\n";

    #[test]
    fn a_crate_without_lints_or_a_line_in_the_architecture_is_found() {
        let about = |manifest: &str, architecture: &str| {
            findings(
                check,
                &[("crates/core/Cargo.toml", manifest), ("ARCHITECTURE.md", architecture)],
            )
            .len()
        };
        assert_eq!(about(GOOD, "`core` is the IR"), 0);
        assert_eq!(about("[package]\nname = \"strait-core\"\n", "`core` is the IR"), 1);
        assert_eq!(about(GOOD, "the core of it"), 1);
        assert_eq!(findings(check, &[]), ["ARCHITECTURE.md: is missing"]);
    }
}
