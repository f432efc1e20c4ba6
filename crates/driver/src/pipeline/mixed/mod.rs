//! Searches for the types of layers: `types`, `accuracy_drop` and `size` of `[optimize]`. What is found are rules, which are
//! added to those of the configuration.
//!
//! The sensitivity of each unit is measured with the simulated model, on calibration samples. Then sets of rules are compiled,
//! and the goal's metric is measured on the integer model. All results are kept in a file in the folder of the cache, so a
//! search that was interrupted continues where it ended.

mod drop;
mod found;
mod goal;
mod lift;
mod memo;
mod nearest;
mod ranked;
mod size;
mod trials;
mod types;

use strait_compile::{
    Algorithms,
    rules::{Rules, Selection},
};
use strait_container::Digest;

use crate::{report::MixedPrecision, session::Session, stop::Stop};

use super::{job::Job, lowered::extended};
use crate::sanity::parsed;

/// The rules that were found, together with those of the configuration.
pub(super) struct Mixed {
    rules: Rules,
    selection: Selection,
    algorithms: Option<Algorithms>,
    /// The digest of the samples of `[optimize]`, if it names some.
    pub(super) samples: Option<Digest>,
    pub(super) report: Vec<MixedPrecision>,
}

impl Mixed {
    /// The job with the rules that were found.
    pub(super) fn job<'a>(&'a self, job: &Job<'a>) -> Job<'a> {
        Job {
            rules: &self.rules,
            selection: &self.selection,
            algorithms: self.algorithms,
            ..job.clone()
        }
    }
}

/// Runs the searches that the configuration asks for: first weights that have to become smaller, then types that have to
/// become wider, because these also make up for what smaller weights lose. Returns `None` if there are none.
///
/// # Errors
/// If a goal cannot be reached, a run fails, or the user interrupts.
pub(super) fn search(job: &Job<'_>, session: &Session<'_>) -> Result<Option<Mixed>, Stop> {
    let optimize = &job.loaded.config.optimize;
    if !optimize.searches() {
        return Ok(None);
    }
    let mut mixed = Mixed {
        rules: job.rules.clone(),
        selection: job.selection.clone(),
        algorithms: job.algorithms,
        samples: None,
        report: Vec::new(),
    };
    if let Some(goal) = &optimize.size {
        let found = size::search(&mixed.job(job), goal, session)?;
        mixed.add(job, found)?;
    }
    if let Some(goal) = &optimize.accuracy_drop {
        let found = drop::search(&mixed.job(job), goal, session)?;
        mixed.add(job, found)?;
    } else if optimize.types == Some(true) {
        let found = types::search(&mixed.job(job), session)?;
        mixed.add(job, found)?;
    }
    Ok(Some(mixed))
}

impl Mixed {
    fn add(&mut self, job: &Job<'_>, found: found::FoundRules) -> Result<(), Stop> {
        let texts: Vec<&str> = found.report.steps.iter().map(|step| step.toml.as_str()).collect();
        let (rules, selection) = extended(&self.job(job), parsed(&texts.join("\n"))?);
        (self.rules, self.selection, self.algorithms) = (rules, selection, found.algorithms);
        self.samples = self.samples.or(found.samples);
        self.report.push(found.report);
        Ok(())
    }
}
