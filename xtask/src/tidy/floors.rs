//! Check that the modules of a crate use only the modules that they may use.
//!
//! A crate's modules are arranged in layers, called floors. `arrows.rs` does the same for whole crates. A module that
//! is not in the table is a finding, since somebody has to decide on which floor it stands.

use super::source::{Source, of_group};
use super::{Findings, Repository};

/// For each crate its floors, the lowest first. A module may use the other modules on its own floor and everything on
/// lower floors. `lib.rs`, and the `mod.rs` of a module that is itself divided into floors, stand above all floors.
const FLOORS: &[(&str, &[&[&str]])] = &[
    (
        "quantize",
        &[
            &["logarithm", "parts", "statistics"],
            &["requests"],
            &["observe", "observers"],
            &["annotate::settings"],
            &["annotate::model_grids", "annotate::analyses"],
            &["annotate::placing"],
            &["annotate::state"],
            &["annotate::findings"],
            &["annotate::passes"],
            &["annotate::fixpoint"],
        ],
    ),
    (
        "driver",
        &[
            // Modules with these names are other crates, which the driver re-exports.
            &["config", "diagnostic", "report"],
            &["checked", "machine", "model", "stop", "table"],
            &["limits", "recognise", "shown"],
            &["failure"],
            &["session"],
            &["dialect", "evaluation", "plugins"],
            &["sanity", "targets"],
            &["analysis"],
            &["pipeline"],
            &[
                "artifact",
                "catalogue",
                "cuts",
                "effective",
                "imported",
                "init",
                "inspect",
                "lock",
                "page",
            ],
            &["bench", "dump", "eval", "run", "verification"],
        ],
    ),
];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        let Some((name, path)) = file.in_crate() else { continue };
        let Some((_, floors)) = FLOORS.iter().find(|(of, _)| *of == name) else {
            continue;
        };
        let Some(own) = path.strip_prefix("src/").map(module) else {
            continue;
        };
        // A module that is divided into floors stands above its own floors.
        if floors
            .iter()
            .flat_map(|floor| floor.iter())
            .any(|of| *of != own && is_within(of, &own))
        {
            continue;
        }
        let Some(floor) = floor_of(floors, &own) else {
            findings.add(
                &file.path,
                format!("`{own}` is not in the table of xtask/src/tidy/floors.rs"),
            );
            continue;
        };
        for (line, used) in used(&source, &own) {
            let text = match floor_of(floors, &used) {
                Some(other) if other <= floor => continue,
                Some(_) => format!("`{own}` may not use `{used}`, which is on a floor above it"),
                None => format!("`{own}` may not use `{used}` from above: name the floor that it is on"),
            };
            findings.at(&file.path, line, text);
        }
    }
}

/// The path of a file's module in its crate; empty for `lib.rs`.
pub(super) fn module(path: &str) -> String {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.strip_suffix("lib")
        .filter(|rest| rest.is_empty())
        .unwrap_or(path)
        .replace('/', "::")
}

/// True if `path` leads to the module or to something in it.
pub(super) fn is_within(path: &str, module: &str) -> bool {
    let rest = path.strip_prefix(module);
    module.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn floor_of(floors: &[&[&str]], path: &str) -> Option<usize> {
    let stands = |floor: &&[&str]| floor.iter().any(|module| is_within(path, module));
    floors.iter().position(stands)
}

/// The paths inside the crate that a file names, in `use` or elsewhere, with the numbers of their lines. Each member of
/// a group is a path of its own.
fn used(source: &Source, own: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let code: Vec<(usize, &str)> = source.product().map(|(line, of)| (line, of.code.as_str())).collect();
    for (index, &(line, text)) in code.iter().enumerate() {
        for (at, _) in text.match_indices("crate::").chain(text.match_indices("super::")) {
            let before = text[..at].chars().next_back();
            // Matches in the middle of `super::super::` or of other names are skipped.
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '$')) {
                continue;
            }
            let rest: String = std::iter::once(&text[at..])
                .chain(code[index + 1..].iter().map(|(_, text)| text.trim()))
                .take(30)
                .collect();
            for path in paths(&rest) {
                found.extend(resolved(&path, own).map(|path| (line, path)));
            }
        }
    }
    found
}

/// The path at the start of `text`. If the path ends with a group, the result has one path for each member.
fn paths(text: &str) -> Vec<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':'));
    let (path, rest) = text.split_at(end.unwrap_or(text.len()));
    let Some(group) = path.strip_suffix("::").zip(rest.strip_prefix('{')) else {
        return vec![path.to_owned()];
    };
    let (path, group) = group;
    let members = of_group(group).into_iter();
    members.flat_map(|member| paths(&format!("{path}::{member}"))).collect()
}

/// The same path from the top of the crate; `None` if the path does not lead to something in the crate.
pub(super) fn resolved(path: &str, own: &str) -> Option<String> {
    let mut from: Vec<&str> = own.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts = path.split("::").filter(|part| !part.is_empty()).peekable();
    if parts.next_if_eq(&"crate").is_some() {
        from.clear();
    }
    while parts.next_if_eq(&"super").is_some() {
        from.pop()?;
    }
    let parts = parts.filter(|part| *part != "self");
    Some(from.into_iter().chain(parts).collect::<Vec<_>>().join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    fn found(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(&format!("crates/quantize/src/{path}"), text)])
    }

    #[test]
    fn an_arrow_upward_is_found_in_every_spelling() {
        for text in [
            "use crate::annotate::passes::run;",
            "use super::super::passes;",
            "use crate::annotate::{settings::Settings, passes::run};",
            "use crate::{\n    annotate::{\n        passes::run,\n    },\n};",
            "fn f() {\n    crate::annotate::fixpoint::place();\n}",
        ] {
            let found = found("annotate/state/draft.rs", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains("on a floor above it"), "{found:?}");
        }
    }

    #[test]
    fn a_floor_of_one_file_and_the_top_of_a_folder_are_held_too() {
        for path in ["requests.rs", "annotate/state/mod.rs"] {
            let found = found(path, "use crate::annotate::passes::run;\n");
            assert_eq!(found.len(), 1, "{path}: {found:?}");
        }
    }

    #[test]
    fn what_is_below_or_beside_may_be_used_and_the_top_may_use_all() {
        let text = "use super::ranges::Ranges;\nuse crate::annotate::{analyses::types, settings::Settings};\n\
                    use crate::observers::grid;\nuse strait_core::Graph;\n// crate::annotate::passes\n";
        assert_eq!(found("annotate/state/draft.rs", text), [""; 0]);
        let text = "mod passes;\npub use passes::run;\nuse crate::annotate::fixpoint::place;\n";
        assert_eq!(found("annotate/mod.rs", text), [""; 0]);
        assert_eq!(found("lib.rs", text), [""; 0]);
    }

    #[test]
    fn an_item_from_above_all_floors_is_found() {
        let found = found("annotate/passes/parts.rs", "use crate::annotate::Settings;\n");
        assert!(found[0].contains("name the floor that it is on"), "{found:?}");
    }

    #[test]
    fn a_new_module_has_to_be_entered_in_the_table() {
        let found = found("annotate/attic.rs", "");
        assert!(found[0].contains("`annotate::attic` is not in the table"), "{found:?}");
    }
}
