//! Runs every file below `filetests/`. With `STRAIT_BLESS=1` the expectations are rewritten. With
//! `STRAIT_FILETEST=part-of-path` only a few files are run.

use std::path::{Path, PathBuf};
use strait_tests::case::check;

/// Finds the cases below `folder`, in the order of their paths.
fn discover(folder: &Path, cases: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = Vec::new();
    for entry in folder.read_dir()? {
        entries.push(entry?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            discover(&entry, cases)?;
        } else if entry.extension().is_some_and(|extension| extension == "strait") {
            cases.push(entry);
        }
    }
    Ok(())
}

#[test]
fn every_file_gives_what_it_expects() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let bless = strait_testkit::is_blessing();
    let wanted = std::env::var("STRAIT_FILETEST").unwrap_or_default();
    let mut cases = Vec::new();
    discover(&root, &mut cases).unwrap();
    assert!(cases.len() >= 4, "no cases in {}", root.display());
    let mut failures = Vec::new();
    for path in &cases {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        if !name.contains(&wanted) {
            continue;
        }
        if let Err(failure) = check(path, bless) {
            failures.push(format!("---- {name}\n{failure}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases failed\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}
