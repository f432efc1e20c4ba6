//! Documentation names things: an item's text begins with a noun or a verb, not with a word that asks.

use super::{Findings, Repository};

/// Words that ask for the thing and do not name it.
const QUESTIONS: &[&str] = &["What", "How", "Whether"];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        let mut inside = false;
        for (number, line) in source.numbered() {
            let text = documentation(&line.comment);
            let word = text.and_then(|text| text.split_whitespace().next()).unwrap_or("");
            let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            if !inside && QUESTIONS.contains(&word) && !source.excused(number, "prose") {
                let text =
                    format!("documentation begins with {word}: name the thing (Number of …, Kind of …, True if …)");
                findings.add(&file.path, Some(number), text);
            }
            inside = text.is_some();
        }
    }
}

/// The text of a line of documentation.
fn documentation(comment: &str) -> Option<&str> {
    let text = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"))?;
    (!text.starts_with('/')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    fn count(text: &str) -> usize {
        findings(check, &[("crates/core/src/a.rs", text)]).len()
    }

    #[test]
    fn documentation_that_begins_with_a_question_is_found() {
        assert_eq!(count("//! What it does.\n"), 1);
        assert_eq!(count("/// Whether x.\nfn f() {}\n    /// How: so.\n    fn g() {}"), 2);
    }

    #[test]
    fn other_lines_may_begin_with_one() {
        assert_eq!(
            count("/// Number of elements.\n/// What is more, a sentence.\n///\n/// How it works.\n"),
            0
        );
        assert_eq!(
            count("// What a comment may ask.\n/// Whatever comes.\nlet x = \"/// What\";"),
            0
        );
        assert_eq!(count("// tidy: allow(prose): a quotation\n/// What a day.\n"), 0);
    }
}
