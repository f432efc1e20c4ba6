//! Check that messages for people do not use Rust's debug form, neither in errors nor in text that is written to a
//! `Formatter`.

use super::source::Line;
use super::{Findings, Repository};

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        let mut is_debug = false;
        // While lines belong to a message, the number of brackets that are open.
        let mut depth: Option<i32> = None;
        for (number, line) in source.product() {
            let code = line.code.trim();
            if code.starts_with("impl") {
                is_debug = code.contains("Debug for ");
            }
            let writes = code.contains("fn ") && code.contains("Formatter") && !is_debug;
            if depth.is_none() && (writes || code.contains("#[error(")) {
                depth = Some(0);
            }
            let Some(open) = &mut depth else { continue };
            *open += brackets(line);
            let is_over = *open <= 0;
            let form = |text: &String| text.contains(":?}") || text.contains(":#?}");
            if line.strings.iter().any(form) && !source.excused(number, "debug") {
                let text = "Rust's debug form reaches people: write a Display, or say what reads the same in both";
                findings.at(&file.path, number, text);
            }
            if is_over {
                depth = None;
            }
        }
    }
}

/// Number of brackets that a line opens, minus those that it closes.
fn brackets(line: &Line) -> i32 {
    let quoted = |at: usize| line.code[..at].ends_with('\'');
    let count = |(at, c): (usize, char)| match c {
        '(' | '[' | '{' if !quoted(at) => 1,
        ')' | ']' | '}' if !quoted(at) => -1,
        _ => 0,
    };
    line.code.char_indices().map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    fn lines(text: &str) -> Vec<String> {
        let found = findings(check, &[("crates/core/src/a.rs", text)]);
        let line = |finding: &String| finding.split(':').nth(1).map(str::to_owned);
        found.iter().filter_map(line).collect()
    }

    #[test]
    fn debug_forms_in_errors_are_found() {
        assert_eq!(
            lines("#[error(\"cannot be {0:?}\")]\nA(u8),\nlet x = \"{y:?}\";"),
            ["1"]
        );
        assert_eq!(lines("#[error(\n    \"{0} of {:?}\",\n    f(.0)\n)]\nA(u8),"), ["2"]);
        assert!(lines("// tidy: allow(debug): a list of extents\n#[error(\"{0:?}\")]").is_empty());
    }

    #[test]
    fn debug_forms_that_are_written_are_found() {
        let text = "impl fmt::Display for A {\n  fn fmt(&self, f: &mut Formatter<'_>) -> R {\n    \
                    let open = '{';\n    write!(f, \"{:?}\", self.0)\n  }\n}\nfn g() { println!(\"{x:?}\") }";
        assert_eq!(lines(text), ["4"]);
        assert!(lines(&text.replace("Display", "Debug")).is_empty());
    }
}
