//! The errors in a user's rules.

use strait_core::codes;
use strait_document::KeyPath;

/// One error in a rule, or in the settings for all layers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct RuleError {
    /// The key with the error, as it is written in a configuration. For example, `quantize.rule[2].layers[0]` is the
    /// first entry of `layers` in the rule with index 2.
    pub key: KeyPath,
    /// The code by which programs recognise the error.
    pub code: &'static str,
    /// The error in one sentence.
    pub message: String,
    /// Further facts, which are shown below the message.
    pub notes: Vec<String>,
    /// Suggestions for correcting the error.
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

    /// The error for a rule that is not valid for the model.
    pub(super) fn wrong(key: KeyPath, message: impl Into<String>) -> RuleError {
        RuleError::new(codes::RULE, key, message)
    }

    /// The error for a rule that the target does not support.
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

/// All errors in the rules of a compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentences(.0))]
pub struct RuleErrors(pub Vec<RuleError>);

impl RuleErrors {
    /// Adds an error, unless there is already an error for the same key.
    pub(super) fn tell(&mut self, error: RuleError) {
        if self.0.iter().all(|known| known.key != error.key) {
            self.0.push(error);
        }
    }

    /// Returns the value if there are no errors.
    pub(super) fn or<T>(self, value: T) -> Result<T, RuleErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

fn sentences(errors: &[RuleError]) -> String {
    let sentences: Vec<String> = errors.iter().map(RuleError::to_string).collect();
    sentences.join("; ")
}
