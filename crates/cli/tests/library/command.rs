//! Runs the program with configurations of the digits model.

use crate::build::repository;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The target table `acme-npu2` of the repository. The target has no code of its own.
pub(crate) const CHIP: &str = include_str!("../../../../configs/targets/acme-npu2.toml");

/// Writes a configuration of the digits model for `acme-npu2` with these further lines; returns its path.
pub(crate) fn configuration(folder: &Path, name: &str, target: &str, more: &str) -> PathBuf {
    let digits = repository("models/digits").canonicalize().unwrap();
    let digits = digits.display();
    let text = format!(
        "schema = 1\n[model]\nfile = '{digits}/digits.onnx'\nbind = {{ N = 1 }}\n\
         [preprocess]\nstored = {{ layout = \"NHWC\" }}\nsteps = [{{ scale = 0.0625 }}, {{ layout = \"NCHW\" }}]\n\
         [calibration]\ndata = '{digits}/calib_x.npy'\nsamples = 20\ncache = 'cache'\n\
         [output]\ndir = '{name}'\n[target]\nuse = [\"acme-npu2\"]\n{target}\n{more}"
    );
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).unwrap();
    file
}

/// Runs the program with these arguments.
pub(crate) fn strait(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_strait"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs the program, which must end with this exit code; returns what it wrote to standard error.
pub(crate) fn fails(arguments: &[&str], code: i32) -> String {
    let out = strait(arguments);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "{arguments:?}: {said}");
    // The program wraps lines at the width of the terminal. Here the lines are joined again.
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs the program, which must succeed; returns what it wrote to standard output.
pub(crate) fn done(arguments: &[&str]) -> String {
    let out = strait(arguments);
    assert!(
        out.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A path as a command-line argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
