//! Standard output and standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};

use serde_json::{Value, json};
use strait_driver::{failure::codes, stop::Stop};

use crate::exit::Exit;

/// Said when we are at fault.
pub(crate) const DEFECT: &str = "\
This is a defect in Strait, not in your files. Please report it with the command that you ran, what is said above, and, \
if you can share them, the configuration and the model.";

/// The letters of a line of standard output: those of the terminal, and of the widest that is still read with ease elsewhere.
pub(crate) fn width() -> usize {
    match terminal_size::terminal_size_of(io::stdout()) {
        // Some terminals do not know how wide they are.
        Some((terminal_size::Width(columns), _)) if columns > 0 => columns.into(),
        _ => ELSEWHERE,
    }
}

const ELSEWHERE: usize = 120;

/// Writes a result. A reader that has gone away is none of our business.
pub(crate) fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    let text = text.strip_suffix('\n').unwrap_or(text);
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            explain(&format!("standard output cannot be written: {error}"));
            Exit::Failed
        }
    }
}

/// Writes a result for a program.
pub(crate) fn print_json(value: &Value) -> Exit {
    print(&format!("{value:#}"))
}

/// Tells a person something. Where standard error is closed there is nobody to tell.
pub(crate) fn explain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.strip_suffix('\n').unwrap_or(text));
}

/// Reports why the work ended, to the person and, with `--json`, to the program.
pub(crate) fn stopped(stop: &Stop, json: bool) -> Exit {
    let (exit, kind, found) = match stop {
        Stop::Found(found) => {
            explain(&found.render(io::stderr().is_terminal()));
            let damaged = found.0.iter().any(|finding| finding.code == codes::DAMAGED);
            let exit = if damaged { Exit::Unsound } else { Exit::Failed };
            (exit, "failed", found.to_json())
        }
        Stop::Interrupted => {
            explain("interrupted");
            (Exit::Interrupted, "interrupted", json!([]))
        }
        Stop::Defect(text) => {
            explain(&format!("{text}\n\n{DEFECT}"));
            (
                Exit::Defect,
                "defect",
                json!([{ "severity": "error", "code": "S999", "message": text, "notes": [], "help": [] }]),
            )
        }
    };
    if json {
        print_json(&json!({ "stopped": kind, "diagnostics": found }));
    }
    exit
}
