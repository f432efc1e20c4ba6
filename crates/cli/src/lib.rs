//! The command line of Strait.
//!
//! The program `strait` consists only of the function `main` below. A vendor's program has one more line, shown here as
//! a comment, which links the crate of the vendor's target:
//!
//! ```no_run
//! use std::process::ExitCode;
//! // use vendor_target as _;
//!
//! fn main() -> ExitCode {
//!     strait_cli::main()
//! }
//! ```
//!
//! Results go to standard output, everything else to standard error. With `--json` the result is one JSON object.

mod arguments;
mod commands;
mod console;
mod exit;
mod version;
mod volume;
mod watch;

use std::{ffi::OsString, panic, path::Path, process::ExitCode};

use clap::{
    Parser,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use arguments::Arguments;
use exit::Exit;

/// Records when the system refuses memory, so that an abort for this reason can be distinguished from other aborts.
#[global_allocator]
static MEMORY: strait_signals::Memory = strait_signals::Memory;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    // This program is also started as the worker for plugins in libraries.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == strait_plugin_host::ARGUMENT)
    {
        return strait_plugin_host::worker::main();
    }
    strait_signals::install(Exit::Failed.code());
    run(std::env::args_os()).into()
}

/// Runs the program with these arguments. The first argument is the program's name.
fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let given = &arguments;
    let arguments = match Arguments::try_parse_from(given).and_then(Arguments::complete) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => {
            console::explain(&not_text(given));
            return Exit::Usage;
        }
        Err(error) if error.use_stderr() => {
            console::explain(&with_command(error).to_string());
            return Exit::Usage;
        }
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {
            return console::print(&version::asked(given));
        }
        // If the user asked for help, it is printed to standard output, like any result.
        Err(error) => return console::print(&error.to_string()),
    };
    arguments.told.heed();
    guarded(|| commands::run(&arguments))
}

/// The message that says which argument is not UTF-8, and which option this argument belongs to.
fn not_text(arguments: &[OsString]) -> String {
    let bad = arguments.iter().position(|argument| argument.to_str().is_none());
    let shown = |at: usize| {
        arguments
            .get(at)
            .map(|argument| argument.to_string_lossy().into_owned())
    };
    let text = bad.and_then(shown).unwrap_or_default();
    let option = bad
        .and_then(|at| shown(at.checked_sub(1)?))
        .filter(|before| before.starts_with('-'));
    let option = option.map(|option| format!(" of {option}")).unwrap_or_default();
    format!(
        "error: the argument{option} is not UTF-8: {text:?}\n\nRename the file, or give a link to it that has such a name."
    )
}

/// If a file is given where a command is expected, adds to the error which commands take such a file.
fn with_command(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let given = given.clone();
    let extension = Path::new(&given).extension().and_then(|extension| extension.to_str());
    let command = match extension {
        Some("toml" | "cfg" | "yaml" | "yml") => format!("compile {given}"),
        Some("onnx" | "tflite" | "pb" | "pt" | "pth") => {
            format!("compile --model {given} --calibration SAMPLES.npy --target ID --out DIR")
        }
        _ if Path::new(&given).join("manifest.json").is_file() => format!("inspect {given}"),
        _ => return error,
    };
    let tip = StyledStr::from(format!("did you mean `strait {command}`?"));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    error
}

/// Runs a command. A panic counts as a bug in Strait, and the program ends with the exit code for bugs.
fn guarded(command: impl FnOnce() -> Exit) -> Exit {
    // No state of the command is used afterwards, so it does not matter if a panic left it inconsistent.
    let result = panic::catch_unwind(panic::AssertUnwindSafe(command));
    result.unwrap_or_else(|_| {
        console::explain(console::DEFECT);
        Exit::Defect
    })
}

#[cfg(test)]
#[allow(clippy::panic, reason = "that is what is tested")]
mod tests {
    use super::*;
    use strait_driver::stop::Stop;

    #[test]
    fn a_defect_of_ours_is_exit_code_70_whether_it_was_noticed_or_not() {
        let noticed = guarded(|| console::stopped(&Stop::Defect("a proof does not hold".into()), false));
        let unnoticed = guarded(|| panic!("an index out of bounds"));
        assert_eq!([noticed.code(), unnoticed.code()], [70, 70]);
        assert_eq!(guarded(|| Exit::Done).code(), 0);
    }
}
