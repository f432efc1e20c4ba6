//! All that can be wrong with rules.

use strait_core::codes;
use strait_document::KeyPath;

/// One thing that is wrong with a rule, or with what is said of all layers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct RuleError {
    /// The key at fault, as a configuration has it: `quantize.rule[2].layers[0]` is in the rule at position 2.
    pub key: KeyPath,
    /// The code by which programs know it.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// Further facts.
    pub notes: Vec<String>,
    /// Ways out.
    pub help: Vec<String>,
}

impl RuleError {
    pub(super) fn new(code: &'static str, key: KeyPath, message: impl Into<String>) -> RuleError {
        RuleError {
            key,
            code,
            message: message.into(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// A rule that is wrong for the model.
    pub(super) fn wrong(key: KeyPath, message: impl Into<String>) -> RuleError {
        RuleError::new(codes::RULE, key, message)
    }

    /// A rule that asks for what the target does not have.
    pub(super) fn unsupported(key: KeyPath, message: impl Into<String>) -> RuleError {
        RuleError::new(codes::UNSUPPORTED, key, message)
    }

    #[must_use]
    pub(super) fn help(mut self, help: impl Into<String>) -> RuleError {
        self.help.push(help.into());
        self
    }

    #[must_use]
    pub(super) fn note(mut self, note: impl Into<String>) -> RuleError {
        self.notes.push(note.into());
        self
    }
}

/// All that is wrong with the rules of a compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentences(.0))]
pub struct RuleErrors(pub Vec<RuleError>);

impl RuleErrors {
    /// One more, unless something is wrong with the same key already.
    pub(super) fn tell(&mut self, error: RuleError) {
        if self.0.iter().all(|known| known.key != error.key) {
            self.0.push(error);
        }
    }

    /// The value, if nothing is wrong.
    pub(super) fn or<T>(self, value: T) -> Result<T, RuleErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

fn sentences(errors: &[RuleError]) -> String {
    let sentences: Vec<String> = errors.iter().map(RuleError::to_string).collect();
    sentences.join("; ")
}
