//! Plugins for tests, built by the C compiler of the machine.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use strait_plugin_host::{Library, Patience, PluginError, Program};

/// The table of the test plugin: every form that there is.
pub(crate) const TABLE: &str = include_str!("../../../../tests/filetests/tables/every-form.toml");

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The worker: the program that this package builds.
pub(crate) fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_strait"))
}

/// A folder for libraries, if there is a C compiler; says that it skips otherwise.
pub(crate) fn workshop() -> Option<tempfile::TempDir> {
    let there = Command::new("cc")
        .arg("--version")
        .output()
        .is_ok_and(|out| out.status.success());
    if !there {
        println!("skipped: no C compiler on this machine");
    }
    there.then(|| tempfile::tempdir().unwrap())
}

/// The test plugin with these definitions and this table.
pub(crate) fn build(folder: &Path, name: &str, table: &str, definitions: &[&str]) -> PathBuf {
    of(folder, name, "plugin.c", table, definitions)
}

/// A plugin that does what a test says, in C, at each of these places.
pub(crate) fn hostile(folder: &Path, name: &str, table: &str, places: &[(&str, &str)]) -> PathBuf {
    let definitions: Vec<String> = places.iter().map(|(place, what)| format!("{place}={what}")).collect();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    of(folder, name, "hostile.c", table, &definitions)
}

fn of(folder: &Path, name: &str, source: &str, table: &str, definitions: &[&str]) -> PathBuf {
    write_table(folder, table);
    compiled(folder, name, source, definitions)
}

/// A table, as C includes it.
pub(crate) fn write_table(folder: &Path, table: &str) {
    let bytes: String = table.bytes().map(|byte| format!("{},", byte as i8)).collect();
    std::fs::write(folder.join("table.inc"), bytes).unwrap();
}

/// A source of these tests with these definitions, beside a table that was written.
pub(crate) fn compiled<T: Display>(folder: &Path, name: &str, source: &str, definitions: &[T]) -> PathBuf {
    let library = folder.join(format!("lib{name}.so"));
    let built = Command::new("cc")
        .args([
            "-std=c11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            // With some definitions a source lacks its entry.
            "-Wno-unused-const-variable",
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-I",
        ])
        .arg(repository("include"))
        .arg("-I")
        .arg(folder)
        .args(definitions.iter().map(|definition| format!("-D{definition}")))
        .arg(repository("crates/cli/tests/library").join(source))
        .arg("-o")
        .arg(&library)
        .args(["-lm", "-lpthread"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

/// The library, with little patience.
pub(crate) fn load(library: &Path, pinned: Option<&str>) -> Result<Library, PluginError> {
    Library::load(library, pinned, program(), patience(Duration::from_secs(20)))
}

/// The library as it is, with this patience.
pub(crate) fn load_with(library: &Path, time: Duration) -> Result<Library, PluginError> {
    Library::load(library, None, program(), patience(time))
}

fn patience(time: Duration) -> Patience {
    Patience {
        load: time,
        call: time,
        emit: time,
    }
}
