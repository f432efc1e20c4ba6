//! A filetest, such as this one:
//!
//! ```text
//! ; run: canonicalise
//! ; Why this case is here.
//! strait 1 float
//! graph @main(%x: f32[2]) { … }
//! ; expect
//! strait 1 float
//! …
//! ```
//!
//! The lines `; run: NAME [ARGUMENT]` name passes of the table in [`crate::passes`], which run one after the other.
//! Other comments are for people. After the line `; expect` follows what the last pass gives: the module as text with
//! its remarks as comments, or another text. The module is verified after every pass. If a pass fails, the run ends,
//! and the result is `error: ` with the message. Large tensors are shown by their digest. With `STRAIT_BLESS=1` the
//! expectation is rewritten.

use crate::passes::{Outcome, find};
use std::path::Path;
use strait_core::text::{PrintOptions, parse, print};
use strait_core::verifier::verify;

const RUN: &str = "; run:";
const EXPECT: &str = "; expect";

/// Content of a file, cut at the line `; expect`.
struct Case<'a> {
    runs: Vec<(&'a str, &'a str)>,
    input: &'a str,
    expect: &'a str,
}

fn read(text: &str) -> Result<Case<'_>, String> {
    let mut offset = 0;
    let mut cut = None;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == EXPECT {
            cut = Some((offset, offset + line.len()));
            break;
        }
        offset += line.len();
    }
    let (end, start) = cut.unwrap_or((text.len(), text.len()));
    let runs = text[..end].lines().filter_map(|line| line.strip_prefix(RUN));
    let runs: Vec<_> = runs
        .map(|run| run.trim().split_once(' ').unwrap_or((run.trim(), "")))
        .collect();
    if runs.is_empty() {
        return Err(format!("no line `{RUN} NAME` says what to run"));
    }
    Ok(Case {
        runs,
        input: &text[..end],
        expect: &text[start..],
    })
}

/// Runs the passes of a case and returns the output.
fn run(case: &Case<'_>) -> Result<String, String> {
    let mut module = parse(case.input).map_err(|error| format!("the input does not read: {error}"))?;
    let digest = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_string();
    let options = PrintOptions {
        digest: Some(&digest),
        ..PrintOptions::default()
    };
    let mut remarks = Vec::new();
    for (position, (name, argument)) in case.runs.iter().enumerate() {
        let pass = find(name)?;
        match pass(&mut module, argument.trim()) {
            Ok(Outcome::Module(more)) => {
                verify(&module).map_err(|violation| format!("behind {name}: {violation}"))?;
                remarks.extend(more);
            }
            Ok(Outcome::Text(_)) if position + 1 < case.runs.len() => {
                return Err(format!("{name} gives a text, so it must be the last to run"));
            }
            Ok(Outcome::Text(text)) => return Ok(ended(text)),
            Err(error) => return Ok(ended(format!("error: {error}"))),
        }
    }
    let mut text = print(&module, &options);
    for remark in remarks {
        text.push_str(&format!("; {remark}\n"));
    }
    Ok(text)
}

/// The text with a line end.
fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Runs one file. With `bless`, the file is rewritten with the result.
pub fn check(path: &Path, bless: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let case = read(&text)?;
    let found = run(&case)?;
    if found == case.expect {
        return Ok(());
    }
    if bless {
        let blessed = format!("{}{EXPECT}\n{found}", ended(case.input.to_string()));
        return std::fs::write(path, blessed).map_err(|error| error.to_string());
    }
    Err(difference(case.expect, &found))
}

/// The lines from the first to the last that differ: `-` for expected ones, `+` for those found.
fn difference(expect: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expect.lines().collect(), found.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = format!("from line {} of the expectation\n", same + 1);
    let lines = old_rest[..old_rest.len() - tail].iter().map(|line| ('-', line));
    for (sign, line) in lines.chain(new_rest[..new_rest.len() - tail].iter().map(|line| ('+', line))) {
        text.push_str(&format!("{sign} {line}\n"));
    }
    text + "STRAIT_BLESS=1 accepts what was found"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_only_what_differs() {
        let text = difference("a\nb\nc\nd\n", "a\nx\nd\n");
        assert!(
            text.starts_with("from line 2 of the expectation\n- b\n- c\n+ x\nSTRAIT"),
            "{text}"
        );
    }

    #[test]
    fn a_case_is_checked_and_blessed() {
        let path = std::env::temp_dir().join(format!("strait-filetest-{}.strait", std::process::id()));
        std::fs::write(
            &path,
            "; run: roundtrip\nstrait 1 float graph @g(%x: f32[1]) { return %x }",
        )
        .unwrap();
        assert!(check(&path, false).unwrap_err().contains("+ graph @g(%x: f32[1]) {"));
        check(&path, true).unwrap();
        check(&path, false).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("roundtrip", "no-such-pass")).unwrap();
        assert!(check(&path, false).unwrap_err().contains("roundtrip"));
        std::fs::remove_file(&path).unwrap();
    }
}
