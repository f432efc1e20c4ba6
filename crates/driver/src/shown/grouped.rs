//! Groups layers that have the same reason, such as for running on the host, and shows each group on one line.

use std::fmt;

use strait_report::ReasonReport;

use crate::table;

/// The width of a line.
const WIDTH: usize = 100;

/// The indent of a line that continues the one before it.
const INDENT: &str = "    ";

/// Of the layers with the same reason, at most this many are named. The output of `--json` and `report.json` name all
/// of them.
pub(super) const NAMED: usize = 4;

/// Writes one line for each reason, with the layers that have it. Reasons come in the order in which they first occur.
/// If two reasons differ only in names of layers and tensors, they share a line, and `…` stands for the names.
pub(super) fn grouped<'a>(
    f: &mut impl fmt::Write,
    heading: &str,
    all: impl Iterator<Item = (String, &'a ReasonReport)>,
) -> fmt::Result {
    let mut groups: Vec<(&str, Vec<Word<'a>>, Vec<String>)> = Vec::new();
    for (name, reason) in all {
        let words = words(&reason.text);
        let is_it = |known: &&mut (&str, Vec<Word<'a>>, Vec<String>)| known.0 == reason.code && alike(&known.1, &words);
        match groups.iter_mut().find(is_it) {
            Some((_, known, names)) => {
                for (known, word) in known.iter_mut().zip(words) {
                    if *known != word {
                        known.text = "…";
                    }
                }
                names.push(name);
            }
            None => groups.push((&reason.code, words, vec![name])),
        }
    }
    for (code, words, names) in groups {
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = names[..names.len().min(NAMED)].join(", ");
        let text: Vec<String> = words.iter().map(|word| format!("{}{}", word.text, word.end)).collect();
        let whole = format!("{heading}{shown}{more}: {} [{code}]", text.join(" "));
        for (at, line) in table::wrapped(&whole, WIDTH - INDENT.len()).iter().enumerate() {
            let indent = if at == 0 { "  " } else { INDENT };
            writeln!(f, "{indent}{line}")?;
        }
    }
    Ok(())
}

/// A word of a reason, and the punctuation after it.
#[derive(Clone, Copy, PartialEq)]
struct Word<'a> {
    text: &'a str,
    end: &'a str,
    /// True if the word looks like a name from a model.
    is_name: bool,
}

fn words(text: &str) -> Vec<Word<'_>> {
    text.split(' ').map(word).collect()
}

fn word(whole: &str) -> Word<'_> {
    let text = whole.trim_end_matches([',', ';', ':', ')', '`', '.']);
    Word {
        text,
        end: &whole[text.len()..],
        is_name: text.contains(['_', ':', '/']),
    }
}

/// True if two reasons are the same except for names of the model.
fn alike(a: &[Word<'_>], b: &[Word<'_>]) -> bool {
    let is_same = |(a, b): (&Word<'_>, &Word<'_>)| {
        a.end == b.end && (a.text == b.text || (a.is_name || a.text == "…") && b.is_name)
    };
    a.len() == b.len() && a.iter().zip(b).all(is_same)
}

#[cfg(test)]
mod tests {
    use std::fmt::Display;

    use super::*;

    struct Lines(Vec<(String, ReasonReport)>);

    impl Display for Lines {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            grouped(f, "", self.0.iter().map(|(name, reason)| (name.clone(), reason)))
        }
    }

    #[test]
    fn reasons_that_differ_in_names_alone_are_one_line() {
        let line = |name: &str, code: &str, text: &str| {
            let (code, text) = (code.to_owned(), text.to_owned());
            (name.to_owned(), ReasonReport { code, text })
        };
        let behind = |name: &str| format!("it stands behind {name}, which has one already");
        let mut lines: Vec<_> = (0..6)
            .map(|at| line(&format!("v{at}"), "chain", &behind(&format!("norm_{at}"))))
            .collect();
        lines.push(line("a", "type", "the result is i8, not i32"));
        lines.push(line("b", "type", "the result is i16, not i32"));
        lines.push(line("c", "other", &behind("norm_9")));
        let expected = "  v0, v1, v2, v3 and 2 more: it stands behind …, which has one already [chain]\n\
                        \x20 a: the result is i8, not i32 [type]\n\
                        \x20 b: the result is i16, not i32 [type]\n\
                        \x20 c: it stands behind norm_9, which has one already [other]\n";
        assert_eq!(Lines(lines).to_string(), expected);
    }
}
