//! Drafts a configuration for a model: what the files tell, what had to be guessed, and what only the user knows.

mod data;
mod draft;
mod model;
mod normalization;
mod steps;

use std::path::{Path, PathBuf};

use crate::{
    config,
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    session::Session,
    stop::Stop,
    targets,
};

use data::Stored;
use draft::Parts;
use model::Subject;
use normalization::{Information, Normalization};

/// What a draft is made from.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The model.
    pub model: PathBuf,
    /// Ids of targets. If there are none, the draft has all targets that are registered.
    pub targets: Vec<String>,
    /// Samples, if there are some yet.
    pub data: Option<PathBuf>,
    /// The folder of the configuration. Paths in the draft are relative to it where that is possible.
    pub folder: PathBuf,
}

/// A configuration with comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The text of the file.
    pub text: String,
    /// What was guessed, one sentence each. The same sentences are in comments of the file.
    pub guessed: Vec<String>,
    /// What only the user knows, one sentence each. As long as there is something, the configuration is not complete.
    pub asked: Vec<String>,
}

/// The samples on which guesses are tried.
const TRIED: usize = 32;

/// Drafts a configuration.
///
/// # Errors
/// If the model or the samples cannot be read, there is no such target, or the user interrupts.
pub fn draft(wish: &Wish, session: &Session<'_>) -> Result<Draft, Stop> {
    let registry = targets::registry([])?;
    for id in &wish.targets {
        if let Err(error) = registry.entry(id) {
            return Err(Diagnostic::error(codes::TARGET, error.to_string()).into());
        }
    }
    for path in [Some(&wish.model), wish.data.as_ref()].into_iter().flatten() {
        draft::writable(path)?;
    }
    let subject = Subject::read(&wish.model)?;
    let stored = wish.data.as_deref().map(Stored::look).transpose()?;
    let mut parts = Parts::new(wish, &registry, (&subject, stored.as_ref()))?;
    if parts.asked.is_empty() && parts.has_levels() {
        let mut scores = Vec::new();
        for candidate in Normalization::usual(parts.channels()) {
            let text = parts.with(&candidate).text(&wish.folder).text;
            let Some(score) = tried(&text, &wish.folder, session)? else {
                break;
            };
            scores.push((candidate, score));
        }
        parts.choose(scores);
    }
    Ok(parts.text(&wish.folder))
}

/// How well the answers of the float model tell samples apart; see [`normalization::information`]. `None` if its output has no
/// classes.
///
/// # Errors
/// If the samples do not fit the model, or a run fails.
fn tried(text: &str, folder: &Path, session: &Session<'_>) -> Result<Option<Information>, Stop> {
    let loaded = config::parse("the draft", text.to_owned(), folder, &[]).map_err(|found| drafted(&found))?;
    let outputs = crate::pipeline::float_outputs(&loaded, TRIED, session)?;
    Ok(normalization::information(&outputs))
}

/// A draft that cannot be read is a bug.
fn drafted(found: &Diagnostics) -> Stop {
    Stop::Defect(format!("the draft is no configuration: {found}"))
}
