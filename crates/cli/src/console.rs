//! Writes to standard output and standard error.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde_json::{Value, json};
use strait_driver::{
    diagnostic::{Diagnostic, Severity},
    failure::codes,
    stop::Stop,
};

use crate::{exit::Exit, volume};

/// The text that is shown if Strait itself is at fault.
pub(crate) const DEFECT: &str = "\
This is a defect in Strait, not in your files. Please report it with the command that you ran, what is said above, and, \
if you can share them, the configuration and the model.";

/// Width of a line on standard output, in characters. If standard output is a terminal, this is the terminal's width.
/// Otherwise, it is a fixed width that is easy to read.
pub(crate) fn width() -> usize {
    match terminal_size::terminal_size_of(io::stdout()) {
        // Some terminals report a width of 0.
        Some((terminal_size::Width(columns), _)) if columns > 0 => columns.into(),
        _ => ELSEWHERE,
    }
}

const ELSEWHERE: usize = 120;

/// Writes a result. If standard output was closed by its reader, this is not an error.
pub(crate) fn print(text: &str) -> Exit {
    write(&printable(text.strip_suffix('\n').unwrap_or(text)))
}

/// Like [`print`], for a text to people, which has colours on a terminal.
fn print_painted(text: &str) -> Exit {
    let text = printable(text.strip_suffix('\n').unwrap_or(text));
    match volume::has_colours(&io::stdout()) {
        true => write(&volume::painted(&text)),
        false => write(&text),
    }
}

fn write(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            explain(&format!("standard output cannot be written: {error}"));
            Exit::Failed
        }
    }
}

/// Makes text from files safe to print. Control characters are shown as escapes such as `\u{1b}`, so that the terminal
/// does not obey them.
fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if obeyed(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Writes a result as JSON, for programs.
pub(crate) fn print_json(value: &Value) -> Exit {
    print(&format!("{value:#}"))
}

/// Writes what a command found: as JSON for programs, or as text for people.
pub(crate) fn shown(json: bool, value: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Exit {
    if json {
        print_json(&value())
    } else {
        print_painted(&text())
    }
}

/// Like [`shown`], but if the work ended with an error, reports the error.
pub(crate) fn made<T>(
    made: Result<T, Stop>,
    json: bool,
    value: impl FnOnce(&T) -> Value,
    text: impl FnOnce(&T) -> String,
) -> Exit {
    match made {
        Ok(made) => shown(json, || value(&made), || text(&made)),
        Err(stop) => stopped(&stop, json),
    }
}

/// Writes a message to standard error. If standard error is closed, nothing happens.
pub(crate) fn explain(text: &str) {
    let _ = writeln!(
        io::stderr().lock(),
        "{}",
        printable(text.strip_suffix('\n').unwrap_or(text))
    );
}

/// Writes a finding that has been rendered with colours. Rendering has already escaped the text that it quotes from
/// files.
pub(crate) fn rendered(finding: &str) {
    let _ = writeln!(io::stderr().lock(), "{finding}");
}

/// Reports why the work ended, on standard error and, with `--json`, also as JSON on standard output.
pub(crate) fn stopped(stop: &Stop, json: bool) -> Exit {
    let (exit, kind, found) = match stop {
        Stop::Found(found) => {
            let found = found.clone().bounded();
            rendered(&found.render(volume::has_colours(&io::stderr())));
            if let Some(hint) = hint(&found.0).filter(|_| io::stderr().is_terminal()) {
                explain(&hint);
            }
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
                json!([{ "severity": "error", "code": codes::DEFECT, "message": text, "notes": [], "help": [] }]),
            )
        }
    };
    if json {
        print_json(&json!({ "stopped": kind, "diagnostics": found }));
    }
    exit
}

/// The line that points people to the explanation of an error. It is one line for all errors, and only for a terminal:
/// whoever reads a log has the code.
fn hint(found: &[Diagnostic]) -> Option<String> {
    let error = found.iter().find(|finding| finding.severity == Severity::Error)?;
    Some(format!(
        "\n`strait explain {}` shows an example and the remedy",
        error.code
    ))
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, hint, printable};

    #[test]
    fn one_line_points_to_the_explanation_of_the_first_error() {
        let found = [
            Diagnostic::warning("M009", "a warning"),
            Diagnostic::error("C003", "an error"),
            Diagnostic::error("C005", "another"),
        ];
        let hint = hint(&found);
        assert!(hint.is_some_and(|hint| hint.contains("strait explain C003") && hint.trim().lines().count() == 1));
        assert_eq!(super::hint(&found[..1]), None);
    }

    #[test]
    fn a_terminal_obeys_nothing_that_a_file_says() {
        assert_eq!(
            printable("two\tcells\nand a line: é, 界"),
            "two\tcells\nand a line: é, 界"
        );
        assert_eq!(
            printable("\u{1b}[31mred\r\u{9b}0m\u{7}"),
            "\\u{1b}[31mred\\u{d}\\u{9b}0m\\u{7}"
        );
    }
}
