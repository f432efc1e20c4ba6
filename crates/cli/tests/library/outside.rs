//! Builds vendors' Rust packages from outside this workspace. It calls the compiler the way cargo would, with the
//! Strait crates that the tests have already built, because building them again takes minutes. The manifests are
//! checked with cargo separately.

use crate::build::repository;
use std::path::Path;
use std::process::Command;

/// Runs a command, which must succeed; returns its standard output.
pub(crate) fn done(command: &mut Command) -> String {
    let out = command.output().unwrap();
    let [shown, said] = [&out.stdout, &out.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(out.status.success(), "{command:?}: {shown}{said}");
    shown
}

/// Compiler options that link the most recently built version of each of these crates.
pub(crate) fn built(names: &[&str]) -> Vec<String> {
    let deps = Path::new(env!("CARGO_BIN_EXE_strait")).parent().unwrap().join("deps");
    let mut options = vec!["-L".to_owned(), format!("dependency={}", deps.display())];
    for name in names {
        let found = std::fs::read_dir(&deps).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            let file = path.file_name()?.to_str()?;
            let ours = file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib");
            let time = path.metadata().ok()?.modified().ok()?;
            ours.then_some((time, path))
        });
        let (_, newest) = found.max().unwrap();
        options.extend(["--extern".to_owned(), format!("{name}={}", newest.display())]);
    }
    options
}

/// The packages of a workspace and their dependencies, as cargo resolves them without a network.
pub(crate) fn tree(workspace: &Path) -> String {
    std::fs::copy(repository("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
    let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
    let tree = ["tree", "--offline", "--workspace", "--prefix", "none"];
    done(Command::new(cargo).current_dir(workspace).args(tree))
}

/// The Rust compiler, set up for the packages of one workspace.
pub(crate) struct Compiler<'a> {
    pub(crate) source: &'a Path,
    /// The version of the packages.
    pub(crate) version: &'a str,
    /// The output folder.
    pub(crate) out: &'a Path,
}

impl Compiler<'_> {
    /// Compiles a crate of the given kind, linked with these Strait crates and with further options.
    pub(crate) fn run(&self, kind: &str, name: &str, file: &str, packages: &[&str], more: &[String]) {
        done(
            Command::new("rustc")
                .args(["--edition", "2024", "-O", "--crate-type", kind, "--crate-name", name])
                .env("CARGO_PKG_VERSION", self.version)
                .args(built(packages))
                .args(more)
                .arg("--out-dir")
                .args([self.out, &self.source.join(file)]),
        );
    }
}
