//! Where files are, and how programs are built.

use crate::process;
use crate::{Outcome, Stop};
use std::path::{Path, PathBuf};

/// The top folder of the repository. The path is derived from the folder in which this crate was compiled, so that
/// commands work in any folder.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Cargo's target folder. It is also used for Python environments, prepared data and results.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder), // an absolute path stays as it is
        None => root().join("target"),
    }
}

/// The folder `shared/data` beside the repository, with the real models and data. They are not part of the repository.
/// If the folder is missing, commands that need it say what they skip.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let folder = root().parent()?.join("shared").join("data");
    folder.is_dir().then_some(folder)
}

/// Arguments that make cargo choose the same features of dependencies as for the tests: all packages, and a target that
/// has dev-dependencies. If cargo chose other features, most of the workspace would be compiled a second time.
const AS_TESTED: [&str; 2] = ["--workspace", "--examples"];

/// Builds the program `strait` and returns its path. It is built with this profile unless the environment variable
/// `STRAIT_BUILD_PROFILE` names another one.
pub(crate) fn build_strait(profile: &str) -> Result<PathBuf, Stop> {
    let profile = std::env::var("STRAIT_BUILD_PROFILE").unwrap_or_else(|_| profile.into());
    let mut cargo = process::cargo();
    cargo
        .current_dir(root())
        .args(["build", "--bin", "strait", "--profile", &profile]);
    match profile.as_str() {
        "dev" => cargo.args(AS_TESTED),
        _ => cargo.args(["--package", "strait-cli"]),
    };
    process::run(&mut cargo)?;
    let binary = target()
        .join(if profile == "dev" { "debug" } else { &profile })
        .join(format!("strait{}", std::env::consts::EXE_SUFFIX));
    if !binary.is_file() {
        return Err(Stop::Failed(format!(
            "cargo built strait, but not to {}",
            binary.display()
        )));
    }
    Ok(binary)
}

/// Builds an example and returns its path.
pub(crate) fn build_example(example: &str) -> Result<PathBuf, Stop> {
    let mut cargo = process::cargo();
    cargo.current_dir(root()).arg("build").args(AS_TESTED);
    process::run(&mut cargo)?;
    let name = format!("{example}{}", std::env::consts::EXE_SUFFIX);
    Ok(target().join("debug").join("examples").join(name))
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The names of the files and folders in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// Returns an error if there are arguments, for commands that take none.
pub(crate) fn no_arguments(arguments: &[String]) -> Outcome {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(Stop::Usage(format!(
            "`{argument}`: this command takes no arguments; see --help"
        ))),
    }
}
