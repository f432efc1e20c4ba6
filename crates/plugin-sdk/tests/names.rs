//! Checks the public names that the SDK promises to keep.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

/// The names that a source file exports, each with its module.
fn names(source: &str) -> BTreeSet<String> {
    let (mut module, mut names) = (String::new(), BTreeSet::new());
    for line in source.lines() {
        let line_in = line.trim();
        if line_in == "pub mod library;" {
            // This module is hidden. Only the code that the macro expands to uses it.
        } else if let Some(name) = line_in.strip_prefix("pub mod ") {
            module = format!("{}::", name.trim_end_matches([' ', '{']));
        } else if let Some(path) = line_in.strip_prefix("pub use ") {
            let path = path.trim_end_matches(';');
            let list = path.split_once('{').map_or_else(
                || path.rsplit("::").next().unwrap_or(path).to_owned(),
                |(_, list)| list.trim_end_matches('}').to_owned(),
            );
            for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let name = name.rsplit(" as ").next().unwrap_or(name);
                names.insert(format!("{module}{name}"));
            }
        } else if let Some(name) = line_in.strip_prefix("macro_rules! ") {
            names.insert(format!("{}!", name.trim_end_matches([' ', '{'])));
        } else if line == "}" {
            module.clear();
        }
    }
    names
}

#[test]
fn the_names_are_those_of_the_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = names(&std::fs::read_to_string(folder.join("src/lib.rs")).unwrap());
    let macros = names(&std::fs::read_to_string(folder.join("src/library/mod.rs")).unwrap());
    found.extend(macros.into_iter().filter(|name| name.ends_with('!')));
    let found: String = found.iter().map(|name| format!("{name}\n")).collect();
    // Removing a name would break vendors' code.
    strait_testkit::is_current("crates/plugin-sdk/tests/names.txt", &found);
}
