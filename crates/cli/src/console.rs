//! Standard output and standard error.

use std::borrow::Cow;
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
    let text = printable(text.strip_suffix('\n').unwrap_or(text));
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            explain(&format!("standard output cannot be written: {error}"));
            Exit::Failed
        }
    }
}

/// Names and remarks come out of files. What a terminal would obey in them is shown as an escape: `\u{1b}`.
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

/// Writes a result for a program.
pub(crate) fn print_json(value: &Value) -> Exit {
    print(&format!("{value:#}"))
}

/// Tells a person something. Where standard error is closed there is nobody to tell.
pub(crate) fn explain(text: &str) {
    let _ = writeln!(
        io::stderr().lock(),
        "{}",
        printable(text.strip_suffix('\n').unwrap_or(text))
    );
}

/// Tells a person a finding as it was rendered, with its colours: rendering has escaped what it quotes.
pub(crate) fn rendered(finding: &str) {
    let _ = writeln!(io::stderr().lock(), "{finding}");
}

/// Reports why the work ended, to the person and, with `--json`, to the program.
pub(crate) fn stopped(stop: &Stop, json: bool) -> Exit {
    let (exit, kind, found) = match stop {
        Stop::Found(found) => {
            let found = found.clone().bounded();
            rendered(&found.render(io::stderr().is_terminal()));
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

#[cfg(test)]
mod tests {
    use super::printable;

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
