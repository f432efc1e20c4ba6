//! Builds plugins for tests with the machine's C compiler.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use strait_plugin_host::{Library, Patience, PluginError, Program};

/// The target table of the test plugin. It has every requantization form.
pub(crate) const TABLE: &str = include_str!("../../../../tests/filetests/tables/every-form.toml");

/// The path of a file in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The program that runs as the worker: the `strait` binary of this package.
pub(crate) fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_strait"))
}

/// A temporary folder for libraries. If there is no C compiler, prints that the test is skipped and returns `None`.
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

/// Builds the test plugin with these macro definitions and this table; returns the library's path.
pub(crate) fn build(folder: &Path, name: &str, table: &str, definitions: &[&str]) -> PathBuf {
    of(folder, name, "plugin.c", table, definitions)
}

/// Builds a plugin into which C code is inserted. Each entry of `places` is the name of a place in the plugin, and the
/// code that runs there.
pub(crate) fn hostile(folder: &Path, name: &str, table: &str, places: &[(&str, &str)]) -> PathBuf {
    let definitions: Vec<String> = places.iter().map(|(place, what)| format!("{place}={what}")).collect();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    of(folder, name, "hostile.c", table, &definitions)
}

fn of(folder: &Path, name: &str, source: &str, table: &str, definitions: &[&str]) -> PathBuf {
    write_table(folder, table);
    compiled(folder, name, source, definitions)
}

/// Writes a table as a C header, which the plugin includes.
pub(crate) fn write_table(folder: &Path, table: &str) {
    let bytes: String = table.bytes().map(|byte| format!("{},", byte as i8)).collect();
    std::fs::write(folder.join("table.inc"), bytes).unwrap();
}

/// Compiles one of the tests' C sources with these macro definitions. The table must have been written next to it.
pub(crate) fn compiled<T: Display>(folder: &Path, name: &str, source: &str, definitions: &[T]) -> PathBuf {
    let library = folder.join(format!("lib{name}.so"));
    let built = Command::new("cc")
        .args([
            "-std=c11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            // With some definitions the source has no entry function, and some constants are unused.
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

/// Loads the library with short time limits.
pub(crate) fn load(library: &Path, pinned: Option<&str>) -> Result<Library, PluginError> {
    Library::load(library, pinned, program(), patience(Duration::from_secs(20)))
}

/// Loads the library with this time limit.
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
