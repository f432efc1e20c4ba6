//! Tests of the codes of reasons.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, path::Path};
use strait_core::ReasonCode;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn each_code_is_given_somewhere() {
    let mut sources = String::new();
    for folder in ["crates", "targets"] {
        for room in fs::read_dir(root().join(folder)).unwrap() {
            append(&room.unwrap().path().join("src"), &mut sources);
        }
    }
    for (_, codes) in ReasonCode::GROUPS {
        for (word, _) in *codes {
            let use_of_it = format!("ReasonCode::{:?}", ReasonCode::from(*word));
            let used = sources
                .match_indices(&use_of_it)
                .any(|(at, _)| !sources[at + use_of_it.len()..].starts_with(char::is_alphanumeric));
            assert!(used, "no code of ours gives the reason `{word}`");
        }
    }
}

/// Appends every Rust file below a folder.
fn append(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            append(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *text += &fs::read_to_string(&path).unwrap();
        }
    }
}
