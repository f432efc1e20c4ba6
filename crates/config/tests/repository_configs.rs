//! Tests that the configurations in the repository are valid.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use strait_config as config;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is part of the repository");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

#[test]
fn every_configuration_is_accepted() {
    let all = [files("configs"), files("configs/models")].concat();
    assert!(all.len() >= 17, "three targets and fourteen models");
    for file in all {
        if let Err(diagnostics) = config::load(&file, &[]) {
            panic!("{}: {diagnostics:?}", file.display());
        }
    }
}

#[test]
fn a_configuration_is_named_after_the_target_that_it_compiles_for() {
    for file in files("configs") {
        let loaded = config::load(&file, &[]).expect("checked above");
        let stem = file.file_stem().expect("has a name").to_string_lossy();
        assert_eq!(loaded.config.target.ids, [stem.into_owned()], "{}", file.display());
    }
}

#[test]
fn fifteen_lines_are_enough_for_a_model() {
    for file in files("configs/models") {
        let text = std::fs::read_to_string(&file).expect("readable");
        assert!(text.lines().count() <= 15, "{}", file.display());
    }
}
