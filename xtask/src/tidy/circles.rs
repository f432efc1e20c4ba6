//! Check that there are no circles of files inside a crate, that is, files that use each other directly or through
//! others.
//!
//! A file uses another file if it names something that the other file defines. Something that is re-exported belongs to
//! the file that defines it. A file may always use what the modules around it define. Tests are not checked. To resolve
//! a circle, move what two files need from each other to a third file.

use super::floors::{is_within, module, resolved};
use super::source::{Source, of_group, words};
use super::{Findings, Repository};
use std::collections::{BTreeMap, BTreeSet};

/// Circles that are allowed: for each, the crate, a file of the circle, and the reason.
const MAY_STAY: &[(&str, &str, &str)] = &[
    (
        "crates/execute",
        "plan",
        "a node that names graphs runs each of them by a plan of its own, which the plan of its graph holds",
    ),
    (
        "crates/lower",
        "recipes",
        "a recipe asks the lowering for its operands, and the lowering narrows an operand by the recipe of the node that left it",
    ),
];

/// The words that stand before the name in a definition.
const DEFINES: &[&str] = &[
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "fn",
    "const",
    "static",
    "macro_rules",
];

/// The most re-exports that are followed to find the file that defines a name.
const MOST_STEPS: usize = 8;

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    let mut crates = BTreeMap::<&str, Modules>::new();
    for (file, source) in repository.sources() {
        let Some((folder, path)) = file.path.split_once("/src/") else {
            continue;
        };
        let module = module(path);
        if !folder.starts_with("examples/") && !module.split("::").any(|part| part == "tests") {
            crates.entry(folder).or_default().0.insert(module, File::new(&source));
        }
    }
    for (folder, modules) in crates {
        let mut circles = modules.circles();
        for (_, file, _) in MAY_STAY.iter().filter(|(of, ..)| *of == folder) {
            let position = circles.iter().position(|circle| circle.contains_key(*file));
            match position {
                Some(position) => drop(circles.remove(position)),
                None => findings.add(folder, format!("`{file}` is in no circle: take it out of the list")),
            }
        }
        for circle in circles {
            findings.add(folder, format!("files use each other: {}", shown(&circle)));
        }
    }
}

/// For each file, the files that it uses. Each comes with the name of something that is used from it.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

fn shown(circle: &Uses<'_>) -> String {
    let name = |module: &str| {
        if module.is_empty() {
            "lib".to_owned()
        } else {
            module.to_owned()
        }
    };
    let edges = circle.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
    let edges = edges.map(|(from, (to, item))| format!("{} uses {item} of {}", name(from), name(to)));
    edges.collect::<Vec<_>>().join(", ")
}

/// The files of a crate. The key is the path of the file's module.
#[derive(Default)]
struct Modules(BTreeMap<String, File>);

impl Modules {
    fn circles(&self) -> Vec<Uses<'_>> {
        let uses = self.uses();
        let reached: BTreeMap<&str, BTreeSet<&str>> = uses.keys().map(|&from| (from, reached(&uses, from))).collect();
        let mut circles = Vec::new();
        for (&from, all) in &reached {
            let circle: BTreeSet<&str> = all.iter().copied().filter(|to| reached[to].contains(from)).collect();
            // Each circle is reported once, for its first file.
            if circle.first() == Some(&from) {
                let inside = uses
                    .iter()
                    .filter(|(from, _)| circle.contains(*from))
                    .map(|(&from, to)| {
                        let to = to.iter().filter(|(to, _)| circle.contains(*to));
                        (from, to.map(|(&to, name)| (to, name.clone())).collect())
                    });
                circles.push(inside.collect());
            }
        }
        circles
    }

    fn uses(&self) -> Uses<'_> {
        let of = |own: &str, file: &File| {
            let found = file.paths.iter().filter_map(|path| self.definer(own, path, 0));
            found.filter(|(of, _)| !is_within(own, of)).collect()
        };
        self.0.iter().map(|(own, file)| (own.as_str(), of(own, file))).collect()
    }

    /// Follows a path that stands in the file `own`. Returns the file that defines what the path leads to, and the name
    /// in this file.
    fn definer(&self, own: &str, path: &str, step: usize) -> Option<(&str, String)> {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let file = self.0.get(own).filter(|_| step < MOST_STEPS)?;
        let path = match first {
            "crate" | "super" | "self" => resolved(path, own)?,
            _ if file.names.contains_key(first) => {
                return self.definer(own, &joined(&file.names[first], rest), step + 1);
            }
            _ if self.0.contains_key(&joined(own, first)) => joined(own, path),
            _ => return None,
        };
        let is_around = |module: &&String| is_within(&path, module);
        let module = self.0.keys().filter(is_around).max_by_key(|module| module.len())?;
        let path = path.strip_prefix(module.as_str())?.trim_start_matches("::");
        let (name, rest) = path.split_once("::").unwrap_or((path, ""));
        let there = &self.0[module];
        if name.is_empty() || name == "*" || there.defined.contains(name) {
            return (!name.is_empty()).then(|| (module.as_str(), name.to_owned()));
        }
        if let Some(target) = there.names.get(name) {
            return self.definer(module, &joined(target, rest), step + 1);
        }
        let mut globs = there.globs.iter();
        let defined = |of: &str, name: &str| self.0.get(of).is_some_and(|file| file.defined.contains(name));
        let found = globs.find_map(|glob| {
            let found = self.definer(module, &joined(glob, name), step + 1);
            found.filter(|(of, name)| defined(of, name))
        });
        // The definition of a name that a macro defines cannot be found. The name is assumed to be defined in `module`.
        Some(found.unwrap_or_else(|| (module.as_str(), name.to_owned())))
    }
}

fn joined(path: &str, rest: &str) -> String {
    let between = if path.is_empty() || rest.is_empty() { "" } else { "::" };
    format!("{path}{between}{rest}")
}

/// All files that the file `from` uses, directly or through others.
fn reached<'a>(uses: &Uses<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for &to in uses.get(next).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to) {
                open.push(to);
            }
        }
    }
    reached
}

/// What has to be known about a file to follow paths that begin in it or lead through it.
struct File {
    /// The names that the file imports with `use`, with their paths.
    names: BTreeMap<String, String>,
    /// The modules from which the file imports everything (`use module::*`).
    globs: Vec<String>,
    /// The paths that the file itself needs: all except those that it only re-exports with `pub use`.
    paths: BTreeSet<String>,
    /// The names that the file defines.
    defined: BTreeSet<String>,
}

impl File {
    fn new(source: &Source) -> File {
        let lines: Vec<&str> = source.product().map(|(_, line)| line.code.trim()).collect();
        let (mut names, mut globs, mut paths) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        let mut body = String::new();
        for statement in lines.join(" ").split(';') {
            let Some((before, tree)) = statement.rsplit_once("use ") else {
                body.push_str(statement);
                body.push(';');
                continue;
            };
            body.push_str(before);
            let visibility = before.rsplit(['{', '}', ']']).next().unwrap_or_default();
            for path in members(tree) {
                let (path, name) = path
                    .split_once(" as ")
                    .unwrap_or((&path, path.rsplit("::").next().unwrap_or("")));
                if !visibility.trim_start().starts_with("pub") {
                    paths.insert(path.to_owned());
                }
                match path.strip_suffix("::*") {
                    Some(module) => globs.push(module.to_owned()),
                    None => drop(names.insert(name.to_owned(), path.to_owned())),
                }
            }
        }
        let is_between = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':');
        let long = body
            .split(is_between)
            .map(|path| path.trim_matches(':'))
            .filter(|path| path.contains("::"));
        paths.extend(long.map(str::to_owned));
        let words: Vec<&str> = words(&body).collect();
        let defines = words.windows(2).filter(|pair| DEFINES.contains(&pair[0]));
        let defined = defines.map(|pair| pair[1].to_owned()).collect();
        File {
            names,
            globs,
            paths,
            defined,
        }
    }
}

/// The paths in the tree of a `use`, one for each leaf.
fn members(tree: &str) -> Vec<String> {
    let Some((base, group)) = tree.split_once('{') else {
        let tree = tree.trim();
        return vec![tree.strip_suffix("::self").unwrap_or(tree).to_owned()];
    };
    let found = of_group(group).into_iter();
    found
        .flat_map(|member| members(&format!("{}{member}", base.trim())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("crates/a/src/{path}"), *text))
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        findings(check, &files)
    }

    #[test]
    fn files_that_use_each_other_are_found_in_every_spelling() {
        let there = ("b.rs", "use crate::c::{self, C};\npub struct B;\n");
        for back in [
            "use crate::b::B;",
            "use super::b;\nfn f() { b::f(); }",
            "fn f(b: &crate::b::B) {}",
            "use super::*;\nuse crate::b::B as X;",
        ] {
            let text = format!("{back}\npub struct C;");
            let found = found(&[there, ("c.rs", &text)]);
            assert_eq!(found.len(), 1, "{back}: {found:?}");
        }
        let longer = [
            ("b.rs", "use crate::c::C;\nstruct B;"),
            ("c.rs", "use crate::d::D;\nstruct C;"),
            ("d.rs", "use crate::b::B;\nstruct D;"),
        ];
        assert_eq!(
            found(&longer),
            ["crates/a: files use each other: b uses C of c, c uses D of d, d uses B of b"]
        );
    }

    #[test]
    fn a_name_is_of_the_file_that_defines_it() {
        let files = |of: &'static str| {
            [
                (
                    "b/mod.rs",
                    "mod c;\nmod d;\npub use c::C;\npub use d::*;\npub struct B;",
                ),
                ("b/c.rs", of),
                ("b/d.rs", "use super::C;\npub struct D;"),
            ]
        };
        assert_eq!(found(&files("use super::B;\npub struct C;")), [""; 0]);
        assert_eq!(found(&files("use crate::b::D;\npub struct C;")).len(), 1);
    }

    #[test]
    fn arrows_of_one_way_tests_and_what_a_module_around_defines_are_fine() {
        let files = [
            ("lib.rs", "mod b;\nuse b::B;\npub struct A;"),
            ("b/mod.rs", "mod c;\nuse c::C;\nuse crate::A;\npub struct B;"),
            (
                "b/c.rs",
                "use super::B;\npub struct C;\n#[cfg(test)]\nmod tests {\n use crate::d::D;\n}",
            ),
            ("d.rs", "use crate::b::B;\npub struct D;"),
            ("b/tests.rs", "use crate::d::D;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
