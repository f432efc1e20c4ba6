//! Check that crates only depend on the crates on which they may depend.
//!
//! The order from the bottom up is: integer arithmetic, the IR, targets, execution, the passes, the driver and the
//! command line. A package that is not in the table is a finding, since somebody has to decide what it may depend on.

use super::{Findings, Repository};
use crate::tidy::repository::File;

/// For each package, all packages of this workspace that it may depend on, directly or through others. The verifier
/// shares as little code as possible with the code whose results it verifies.
const ALLOWED: &str = "
requantize:
mapped:
exchange: mapped
signals:
file-names:
testkit:
document:
kernels: requantize
core: requantize
import: requantize core document execute
onnx: requantize core mapped import
tensorflow: core mapped import
tflite: core mapped import
container: requantize core mapped file-names
images:
explain: core document
samples: core mapped document images
target: requantize core kernels mapped document file-names
plugin-interface:
plugin-sdk: requantize core kernels target plugin-interface
plugin-host: requantize core kernels mapped document target plugin-interface
execute: requantize core kernels exchange
rewrite: requantize core target execute
quantize: requantize core kernels target exchange execute
lower: requantize core target execute
optimize: core target exchange execute quantize lower
verify: requantize core execute
evaluate: core document exchange execute quantize samples
config: requantize core mapped document images samples target evaluate compile
compile: requantize core document kernels target execute rewrite quantize lower optimize verify
report: requantize core container document target samples execute quantize lower evaluate compile
page: evaluate report
artifact: requantize core container document target execute quantize report verify compile
identify: requantize samples
conformance: requantize core kernels target execute quantize lower compile identify plugin-host
driver: requantize mapped exchange document images kernels core import onnx tensorflow tflite container samples target execute \
  evaluate rewrite quantize lower verify compile report page artifact config plugin-host
cli: driver evaluate explain builtin target container kernels identify conformance plugin-host signals
strait: mapped exchange document core import onnx tensorflow tflite container target execute quantize report compile artifact \
  plugin-host builtin
xtask:
";

/// The packages that a package may depend on, one after the other; `None` if the package is not in the table.
fn allowed(package: &str) -> Option<&'static str> {
    let mut rows = ALLOWED.lines().filter_map(|row| row.split_once(':'));
    Some(rows.find(|(name, _)| *name == package)?.1)
}

/// The crates that a target in `targets/` may use: the interface for vendors, and the crate that reads and writes
/// arrays in files.
const FOR_TARGETS: &str = "plugin-sdk samples";

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    let targets: Vec<String> = manifests(repository)
        .filter(|m| m.path.starts_with("targets/"))
        .map(package)
        .collect();
    for manifest in manifests(repository) {
        let package = package(manifest);
        let is_target = manifest.path.starts_with("targets/");
        for (line, section, dependency) in dependencies(manifest) {
            let Some(dependency) = dependency.strip_prefix("strait-") else {
                continue;
            };
            if targets.iter().any(|target| target == dependency) {
                if package != "builtin" {
                    findings.at(
                        &manifest.path,
                        line,
                        format!("only `builtin` may depend on the target {dependency}"),
                    );
                }
                continue;
            }
            // Tests may use more than the code that they test. The package of tests may use everything.
            if section == Section::Development || package == "tests" {
                continue;
            }
            let own = if is_target {
                Some(FOR_TARGETS)
            } else {
                allowed(&package)
            };
            if own.is_none_or(|own| own.split(' ').all(|allowed| allowed != dependency)) {
                findings.at(
                    &manifest.path,
                    line,
                    format!("{package} may not depend on {dependency}"),
                );
            }
        }
        if !is_target && !["builtin", "tests"].contains(&&*package) && allowed(&package).is_none() {
            findings.add(
                &manifest.path,
                format!("{package} is not in the table of xtask/src/tidy/arrows.rs"),
            );
        }
    }
}

/// The manifests of the packages in the workspace. Examples are workspaces of their own and are left out.
pub(super) fn manifests(repository: &Repository) -> impl Iterator<Item = &File> {
    repository.files.iter().filter(|file| {
        let parts: Vec<&str> = file.path.split('/').collect();
        matches!(
            parts[..],
            ["crates" | "targets", _, "Cargo.toml"] | ["tests" | "xtask", "Cargo.toml"]
        )
    })
}

/// The name by which the table calls a package. It is the package's name without `strait-`. Targets are called
/// `strait-target-ID` or `strait-ID`.
pub(super) fn package(manifest: &File) -> String {
    let name = manifest
        .lines()
        .find_map(|(_, line)| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let name = name.unwrap_or_default();
    name.strip_prefix("strait-").unwrap_or(name).to_owned()
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Normal,
    Development,
}

/// The dependencies in a manifest, with their lines. The forms `name.workspace = true`, `name = …` and
/// `[dependencies.name]` are recognized.
fn dependencies(manifest: &File) -> Vec<(usize, Section, &str)> {
    let mut found = Vec::new();
    let mut section = None;
    for (number, line) in manifest.lines() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            // The header is one such as [dependencies], [target.'cfg(unix)'.dependencies], [build-dependencies] or
            // [dependencies.name].
            let (kind, name) = match header.rsplit_once('.') {
                Some((before, name)) if before.ends_with("dependencies") => (before, Some(name)),
                _ => (header, None),
            };
            section = match kind {
                kind if kind.starts_with("workspace") || !kind.ends_with("dependencies") => None,
                kind if kind.ends_with("dev-dependencies") => Some(Section::Development),
                _ => Some(Section::Normal),
            };
            found.extend(section.zip(name).map(|(section, name)| (number, section, name)));
            section = section.filter(|_| name.is_none());
        } else if let (Some(section), Some(end), false) = (section, line.find(['.', '=', ' ']), line.starts_with('#')) {
            found.push((number, section, &line[..end]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn an_arrow_against_the_order_is_found_in_every_spelling() {
        for dependencies in [
            "[dependencies]\nstrait-core.workspace = true",
            "[dependencies]\nserde = \"1\"\nstrait-core = { path = \"../core\" }",
            "[target.'cfg(unix)'.dependencies]\nstrait-core = \"1\"",
            "[build-dependencies]\nstrait-core = \"1\"",
            "[dependencies.strait-core]\nworkspace = true",
        ] {
            let text = format!("[package]\nname = \"strait-kernels\"\n{dependencies}\n");
            let found = findings(check, &[("crates/kernels/Cargo.toml", &text)]);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].ends_with("kernels may not depend on core"), "{found:?}");
        }
    }

    #[test]
    fn the_order_and_what_tests_need_is_allowed() {
        let core = "[package]\nname = \"strait-core\"\n[dependencies]\nstrait-requantize.workspace = true\nserde = \"1\"\n[dev-dependencies]\nstrait-onnx.workspace = true\n";
        assert_eq!(findings(check, &[("crates/core/Cargo.toml", core)]), [""; 0]);
    }

    #[test]
    fn only_builtin_depends_on_a_target() {
        let target = ("targets/sima/Cargo.toml", "[package]\nname = \"strait-target-sima\"\n");
        let user = |name: &str| {
            format!("[package]\nname = \"strait-{name}\"\n[dev-dependencies]\nstrait-target-sima = \"1\"\n")
        };
        assert_eq!(
            findings(check, &[target, ("crates/builtin/Cargo.toml", &user("builtin"))]),
            [""; 0]
        );
        assert_eq!(
            findings(check, &[target, ("crates/driver/Cargo.toml", &user("driver"))]).len(),
            1
        );
    }

    #[test]
    fn a_new_room_has_to_be_entered_in_the_table() {
        let found = findings(
            check,
            &[("crates/attic/Cargo.toml", "[package]\nname = \"strait-attic\"\n")],
        );
        assert!(found[0].contains("attic is not in the table"), "{found:?}");
    }
}
