//! Diagnostics for people and programs. All layers that report through the driver use the same type. A diagnostic is
//! rendered as text that shows the line with the error, or as JSON.

use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

#[cfg(feature = "render")]
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle};
use serde_json::{Value, json};

use crate::KeyPath;

/// Severity of a finding. Only an [`Severity::Error`] stops a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The command cannot do what it was asked to do.
    Error,
    /// The command does what it was asked to do, but the user probably meant something else.
    Warning,
    /// Something worth knowing.
    Note,
}

impl Severity {
    /// The severity as a word: `error`, `warning` or `note`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A text in which an error can be: a file, or an argument of the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The path of the file, or the name of the option (`--set`).
    pub name: String,
    /// The whole text. It is empty if the text could not be read.
    pub text: String,
}

/// A place in a [`SourceText`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The text to which `span` refers.
    pub source: Arc<SourceText>,
    /// The range of bytes in the text. `None` means the whole text, for example if a table is missing or if the file
    /// cannot be read.
    pub span: Option<Range<usize>>,
    /// The text that is shown next to the caret. It can be empty.
    pub label: String,
}

impl Excerpt {
    /// The line and the column, both counted from 1. Columns are counted in characters.
    pub fn position(&self) -> Option<(usize, usize)> {
        let start = self.start()?;
        let before = self.source.text.get(..start)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        Some((line, before[line_start..].chars().count() + 1))
    }

    /// The line in which `span` begins, without its line ending, and the position of the line's first byte in the text.
    pub fn line(&self) -> Option<(usize, &str)> {
        let text = self.source.text.as_str();
        let start = self.start()?;
        let from = text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
        let to = text[start..].find('\n').map_or(text.len(), |length| start + length);
        Some((from, text[from..to].trim_end_matches('\r')))
    }

    /// Returns the start of the span. If the start is beyond the end of the text, the result is the end of the text. If
    /// it is within a character, the result is the start of the character.
    fn start(&self) -> Option<usize> {
        let mut start = self.span.as_ref()?.start.min(self.source.text.len());
        while !self.source.text.is_char_boundary(start) {
            start -= 1;
        }
        Some(start)
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity of the finding.
    pub severity: Severity,
    /// The code: a letter for the layer and three digits. The code of an error never changes, so programs can depend on
    /// it.
    pub code: String,
    /// One sentence that says what is wrong.
    pub message: String,
    /// The place of the error.
    pub excerpt: Option<Excerpt>,
    /// The key of the configuration that has to be changed. Code that does not know where the key is written sets this
    /// field instead of `excerpt`.
    pub key: Option<KeyPath>,
    /// Further facts, such as the allowed values or the state that was found.
    pub notes: Vec<String>,
    /// Advice to the user.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// Makes an error that has no place yet.
    pub fn error(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// Makes a warning that has no place yet.
    pub fn warning(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// Makes a note that has no place yet.
    pub fn remark(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    fn new(severity: Severity, code: impl Into<String>, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            code: code.into(),
            message: message.into(),
            excerpt: None,
            key: None,
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, excerpt: Excerpt) -> Self {
        self.excerpt = Some(excerpt);
        self
    }

    /// Sets the key of the configuration that has to be changed.
    #[must_use]
    pub fn about(mut self, key: KeyPath) -> Self {
        self.key = Some(key);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// The text for people: the sentence with its place, and then the notes and the advice, one line for each.
    #[cfg(not(feature = "render"))]
    pub fn render(&self, _: bool) -> String {
        let place = self.excerpt.as_ref().map(|excerpt| {
            let position = excerpt.position().map(|(line, column)| format!(":{line}:{column}"));
            format!(
                "{}{}: {}",
                excerpt.source.name,
                position.unwrap_or_default(),
                excerpt.label
            )
        });
        let first = format!("{}[{}]: {}", self.severity.name(), self.code, self.message);
        let further = place.iter().chain(&self.notes).chain(&self.help);
        further.fold(first, |text, line| format!("{text}\n{line}"))
    }

    /// Renders the text for people: the message, the place, the line with a caret, the notes and the advice. `colour`
    /// says whether ANSI colours are used.
    #[cfg(feature = "render")]
    pub fn render(&self, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()).id(self.code.as_str()));
        if let Some(excerpt) = &self.excerpt {
            group = match (excerpt.line(), excerpt.position()) {
                (Some((line_start, line)), Some((number, _))) => group.element(
                    Snippet::source(line)
                        .path(excerpt.source.name.as_str())
                        .line_start(number)
                        .annotation(
                            AnnotationKind::Primary
                                .span(caret(excerpt, line_start, line))
                                .label((!excerpt.label.is_empty()).then_some(excerpt.label.as_str())),
                        ),
                ),
                _ => group.element(Origin::path(excerpt.source.name.as_str())),
            };
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        renderer.decor_style(DecorStyle::Ascii).render(&[group])
    }

    /// Renders the JSON for programs. `file`, `line`, `column`, `text` (the line) and `label` are only present if they
    /// are known.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "severity": self.severity.name(),
            "code": self.code,
            "message": self.message,
            "notes": self.notes,
            "help": self.help,
        });
        if let Some(excerpt) = &self.excerpt {
            object["file"] = json!(excerpt.source.name);
            if let (Some((_, line)), Some((number, column))) = (excerpt.line(), excerpt.position()) {
                object["line"] = json!(number);
                object["column"] = json!(column);
                object["text"] = json!(line);
                object["label"] = json!(excerpt.label);
            }
        }
        object
    }
}

/// Returns the part of the span that lies in the line, as a range of bytes within the line. The range begins and ends
/// at borders between characters.
#[cfg(feature = "render")]
fn caret(excerpt: &Excerpt, line_start: usize, line: &str) -> Range<usize> {
    let border = |position: usize| {
        let mut position = position.saturating_sub(line_start).min(line.len());
        while !line.is_char_boundary(position) {
            position -= 1;
        }
        position
    };
    let span = excerpt.span.clone().unwrap_or_default();
    border(span.start)..border(span.end.max(span.start))
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// All findings of one check. A function that returns this value as an error never returns an empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostics(pub Vec<Diagnostic>);

/// How many findings with the same code are shown, at most.
const MOST_OF_A_CODE: usize = 20;

impl Diagnostics {
    /// Returns `value` if there are no findings.
    ///
    /// # Errors
    /// The findings, if there are any.
    pub fn or<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Keeps at most the first twenty findings of each code, and adds the number of findings that are left out. A
    /// program that writes documents may have made the same mistake a hundred thousand times.
    #[must_use]
    pub fn bounded(self) -> Diagnostics {
        let mut counts: BTreeMap<(String, Severity), usize> = BTreeMap::new();
        let mut kept = self.0;
        kept.retain(|finding| {
            let count = counts.entry((finding.code.clone(), finding.severity)).or_default();
            *count += 1;
            *count <= MOST_OF_A_CODE
        });
        let more = counts.into_iter().filter(|(_, count)| *count > MOST_OF_A_CODE);
        kept.extend(more.map(|((code, severity), count)| {
            let more = count - MOST_OF_A_CODE;
            Diagnostic {
                severity,
                ..Diagnostic::error(code, format!("and {more} more of this kind, which are not shown"))
            }
        }));
        Diagnostics(kept)
    }

    /// The text for people, with an empty line between two findings.
    pub fn render(&self, colour: bool) -> String {
        let rendered: Vec<String> = self.0.iter().map(|diagnostic| diagnostic.render(colour)).collect();
        rendered.join("\n\n")
    }

    /// The JSON for programs: an array with the result of [`Diagnostic::to_json`] for each finding.
    pub fn to_json(&self) -> Value {
        self.0.iter().map(Diagnostic::to_json).collect()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_text(text: &str, span: Range<usize>) -> Diagnostic {
        let source = Arc::new(SourceText {
            name: "deploy.toml".into(),
            text: text.into(),
        });
        Diagnostic::error("C003", "unknown key `sample`")
            .at(Excerpt {
                source,
                span: Some(span),
                label: "unknown".into(),
            })
            .note("a note")
            .help("some help")
    }

    #[test]
    fn text_shows_file_line_column_and_caret() {
        let text = in_text("schema = 1\n[calibration]\r\nsample = 3\r\n", 26..32).render(false);
        let expected = "\
error[C003]: unknown key `sample`
 --> deploy.toml:3:1
  |
3 | sample = 3
  | ^^^^^^ unknown
  |
  = note: a note
  = help: some help";
        assert_eq!(text, expected);
    }

    #[test]
    fn json_has_the_same_facts() {
        let found = in_text("ü = 1\näöü = 2", 9..11).to_json();
        assert_eq!(found["line"], 2);
        assert_eq!(found["column"], 2);
        assert_eq!(found["text"], "äöü = 2");
    }

    #[test]
    fn colour_only_when_asked() {
        assert!(in_text("a = 1", 0..1).render(true).contains('\u{1b}'));
        assert!(!in_text("a = 1", 0..1).render(false).contains('\u{1b}'));
    }

    #[test]
    fn spans_outside_the_text_or_inside_a_character_do_no_harm() {
        for span in [0..99, 99..120, 1..2, 3..3] {
            let found = in_text("ü\n", span);
            assert!(found.render(false).starts_with("error[C003]"));
            found.to_json();
        }
        assert!(in_text("", 0..0).render(false).contains("deploy.toml"));
    }

    #[test]
    fn without_a_place_only_the_file_is_named() {
        let source = Arc::new(SourceText {
            name: "deploy.toml".into(),
            text: String::new(),
        });
        let found = Diagnostic::error("C001", "cannot be read").at(Excerpt {
            source,
            span: None,
            label: String::new(),
        });
        assert_eq!(found.render(false), "error[C001]: cannot be read\n--> deploy.toml");
        assert_eq!(found.to_json().get("line"), None);
    }

    #[test]
    fn twenty_of_a_kind_are_told_and_the_others_counted() {
        let many = |code: &str, count: usize| (0..count).map(|at| Diagnostic::error(code, at.to_string())).collect();
        let all: Vec<Diagnostic> = [many("R001", 100_000), many("R002", 20)]
            .into_iter()
            .flat_map(|many: Vec<_>| many)
            .collect();
        let bounded = Diagnostics(all).bounded();
        assert_eq!(bounded.0.len(), 41);
        assert_eq!(
            bounded.0[40].message,
            "and 99980 more of this kind, which are not shown"
        );
        assert_eq!(
            (bounded.0[40].code.as_str(), bounded.0[20].code.as_str()),
            ("R001", "R002")
        );
    }
}
