//! What is wrong with a table, and where.

use std::{fmt, ops::Range};

/// One finding in a table's text. The fault is the table's author's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// What is wrong, in one sentence.
    pub message: String,
    /// The bytes of the text that say it; `None` where something is missing from the whole.
    pub span: Option<Range<usize>>,
    /// What is allowed, or what was probably meant.
    pub help: Option<String>,
}

impl SpecError {
    /// A finding at a place.
    pub fn at(span: Range<usize>, message: impl Into<String>) -> SpecError {
        SpecError {
            message: message.into(),
            span: Some(span),
            help: None,
        }
    }

    /// A finding about the whole table.
    pub fn whole(message: impl Into<String>) -> SpecError {
        SpecError {
            message: message.into(),
            span: None,
            help: None,
        }
    }

    /// Adds what is allowed, or what was probably meant.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> SpecError {
        self.help = Some(help.into());
        self
    }

    /// Line and column of its start, both counted from 1, the column in characters.
    pub fn position(&self, text: &str) -> Option<(usize, usize)> {
        let mut start = self.span.as_ref()?.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[..start].bytes().filter(|&byte| byte == b'\n').count() + 1;
        Some((line, text[line_start..start].chars().count() + 1))
    }
}

/// Everything that is wrong with one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecErrors {
    /// The file, or the plugin, that the table comes from.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The findings, at least one, in the order of the text.
    pub errors: Vec<SpecError>,
}

impl fmt::Display for SpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", self.name)?;
            if let Some((line, column)) = error.position(&self.text) {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {}", error.message)?;
            if let Some(line) = error
                .position(&self.text)
                .and_then(|(line, _)| self.text.lines().nth(line - 1))
            {
                write!(f, "\n    {}", line.trim())?;
            }
            if let Some(help) = &error.help {
                write!(f, "\n    {help}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for SpecErrors {}
