//! Starts other programs: cargo, `strait` and Python.

use crate::{Outcome, Stop};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The cargo that started this program, so that a toolchain override also applies to child processes.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// True if there is a program of this name that succeeds with these arguments, such as `--version`.
pub(crate) fn exists(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Runs a program to its end. It uses the standard input and output of this process. If it fails, its exit code is
/// returned.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command
        .status()
        .map_err(|error| format!("cannot start {}: {error}", name(command)))?;
    match status.code() {
        Some(0) => Ok(()),
        // On Windows exit codes need not fit into a byte, but the ones that have a meaning here do.
        Some(code) => Err(Stop::Code(u8::try_from(code).unwrap_or(1))),
        None => Err(Stop::Failed(format!("{} was ended by a signal", name(command)))),
    }
}

/// Runs a program to its end and returns what it printed. What it writes to standard error is shown.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = name(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{name} printed something that is not UTF-8"))
}

fn name(command: &Command) -> String {
    Path::new(command.get_program())
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
