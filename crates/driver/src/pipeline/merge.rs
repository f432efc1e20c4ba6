//! Joins the statistics that were collected on shares of the samples.

use std::{
    fs,
    path::{Path, PathBuf},
};

use strait_quantize::{
    Observation,
    statistics::{self, Coverage, JoinError, StatisticsKey},
};

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    failure::{codes, unwritten},
    session::Session,
    stop::Stop,
};

use super::{
    calibrate::{Calibrated, outside, place},
    observe::{MOST_BYTES, file_name, keep},
};

/// Joins the files of shares, in any order, into the statistics of all samples.
///
/// # Errors
/// If files are not statistics, are damaged or belong to different models or samples; if shares overlap or are missing;
/// or if the user interrupts.
pub fn merge(files: &[PathBuf], out: &Path, session: &Session<'_>) -> Result<Calibrated, Stop> {
    outside(out)?;
    let (key, whole) = session.phase("merge", Some(files.len()), |done| {
        let mut joined: Option<Joined<'_>> = None;
        for (index, file) in files.iter().enumerate() {
            let (key, observation) = shard(file)?;
            match &mut joined {
                None => joined = Some(Joined::new(file, key, observation)),
                Some(joined) => joined.add(file, &key, observation)?,
            }
            if done(index + 1).is_break() {
                return Err(Stop::Interrupted);
            }
        }
        let joined = joined.ok_or_else(|| unusable("no file of statistics is given".to_owned()))?;
        Ok(joined.whole()?)
    })?;
    let path = place(out, &file_name(&key));
    let there = |path: &Path| fs::canonicalize(path).ok();
    if let Some(lost) = there(&path).and_then(|path| files.iter().find(|file| there(file).as_ref() == Some(&path))) {
        let message = format!("{} is a shard, and is not overwritten", lost.display());
        return Err(Diagnostic::error(codes::OUTPUT, message)
            .help("name another file with --out")
            .into());
    }
    keep(&path, &whole, &key).map_err(|error| unwritten(&path, &error))?;
    Ok(Calibrated::new(path, &key, whole.covered(), None))
}

fn unusable(message: String) -> Diagnostic {
    Diagnostic::error(codes::STATISTICS, message)
}

fn shard(file: &Path) -> Result<(StatisticsKey, Observation), Diagnostics> {
    let mapped = strait_mapped::map(file, MOST_BYTES);
    let bytes = mapped.map_err(|error| unusable(format!("{} cannot be read: {error}", file.display())))?;
    statistics::read(&bytes).map_err(|error| {
        let finding = unusable(format!("{}: {error}", file.display()));
        finding.help("`strait calibrate CONFIG --shard I/N` writes one").into()
    })
}

/// The shares that have been joined so far.
struct Joined<'a> {
    key: StatisticsKey,
    observation: Observation,
    files: Vec<(&'a Path, Coverage)>,
}

impl<'a> Joined<'a> {
    fn new(file: &'a Path, key: StatisticsKey, observation: Observation) -> Joined<'a> {
        Joined {
            key,
            files: vec![(file, observation.covered().clone())],
            observation,
        }
    }

    fn add(&mut self, file: &'a Path, key: &StatisticsKey, shard: Observation) -> Result<(), Diagnostics> {
        let first = self.files.first().map_or(file, |(first, _)| first);
        let both = |other: &Path, text: &str| format!("{} and {} {text}", other.display(), file.display());
        if key.model != self.key.model {
            let finding = unusable(both(first, "are of different models"));
            return Err(finding
                .note("the graphs, their weights, or the versions of Strait that observed them differ")
                .into());
        }
        if key.data != self.key.data {
            let finding = unusable(both(first, "are of different data"));
            return Err(finding
                .note("the samples, their number or their preprocessing differ")
                .into());
        }
        let overlap = |(other, covered): &(&'a Path, Coverage)| Some((*other, covered.overlap(shard.covered())?));
        if let Some((other, twice)) = self.files.iter().find_map(overlap) {
            let (from, to) = (twice.start, twice.end - 1);
            let text = format!("both have the samples {from} to {to} of {}", shard.covered().of());
            return Err(unusable(both(other, &text))
                .help("give each share once, all of one split")
                .into());
        }
        self.observation.join(&shard).map_err(|error| match error {
            JoinError::Different { kind, name } => {
                let text = format!("differ: only one of them has the statistics `{kind}` of {name:?}");
                unusable(both(first, &text)).help("observe all shares with the same configuration")
            }
            JoinError::Overlap(_) => unusable(both(first, &error.to_string())),
        })?;
        self.files.push((file, shard.covered().clone()));
        Ok(())
    }

    fn whole(self) -> Result<(StatisticsKey, Observation), Diagnostics> {
        let covered = self.observation.covered();
        if covered.is_whole() {
            return Ok((self.key, self.observation));
        }
        let message = format!("the samples {} of {} are in no file", covered.missing(), covered.of());
        let finding = self.files.iter().fold(unusable(message), |finding, (file, covered)| {
            finding.note(format!("{} has {covered}", file.display()))
        });
        Err(finding
            .help("samples are counted from 0; give the files of all shares")
            .into())
    }
}
