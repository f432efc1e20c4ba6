//! Keeps what a search has measured, in a file. The search asks in the same order each time, so one that was interrupted
//! continues where it ended.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use strait_container::Beside;

use crate::{session::Session, stop::Stop};

use super::super::{job::Job, settings::settings_digest};

/// The version of what is kept. It is raised when the same question gets another answer.
const VERSION: &str = "strait-search 1";

/// A file may have at most this many bytes. Larger files are not read.
const MOST_BYTES: u64 = 16 << 20;

/// Measured numbers, by what was measured. The file has the bits of each number, so that nothing is rounded.
pub(super) struct Memo {
    path: PathBuf,
    known: BTreeMap<String, Vec<u64>>,
    is_kept: bool,
    /// True if the user was told that the file cannot be written.
    told: bool,
}

impl Memo {
    /// Opens what was kept for the same model, samples, target and settings.
    ///
    /// # Errors
    /// If a sample cannot be read.
    pub(super) fn open(job: &Job<'_>, purpose: &str, samples: &[u8], session: &Session<'_>) -> Result<Memo, Stop> {
        let settings = settings_digest(job.loaded, job.id())?;
        let mut hasher = blake3::Hasher::new();
        let parts = [
            VERSION.to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
            purpose.to_owned(),
            settings.to_string(),
            job.ready.calibration.to_string(),
            job.ready.model.digest().to_string(),
            strait_container::Digest(job.target.spec().digest).to_string(),
            // The rules that earlier searches have found are not in the settings.
            serde_json::to_string(job.rules).map_err(|error| Stop::Defect(error.to_string()))?,
        ];
        for part in &parts {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        hasher.update(samples);
        let name = format!("{}.search", &hasher.finalize().to_hex()[..32]);
        let path = Path::new(job.loaded.config.calibration.cache.as_ref()).join(name);
        // Processes that share the work have to do the same steps, so none of them uses what only it may find.
        let is_kept = session.exchange().is_none();
        let text = strait_mapped::read(&path, MOST_BYTES).ok().filter(|_| is_kept);
        let known: BTreeMap<String, Vec<u64>> = text
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        if !known.is_empty() {
            let count = crate::table::count(known.len(), "measurement");
            session.say(&format!("{count} of the search are reused from {}", path.display()));
        }
        Ok(Memo {
            path,
            known,
            is_kept,
            told: false,
        })
    }

    /// The numbers for a question. They are measured if they are not known.
    ///
    /// # Errors
    /// Errors of `measure`.
    pub(super) fn ask<const N: usize>(
        &mut self,
        question: String,
        session: &Session<'_>,
        measure: impl FnOnce() -> Result<[f64; N], Stop>,
    ) -> Result<[f64; N], Stop> {
        let known = self
            .known
            .get(&question)
            .and_then(|bits| <[u64; N]>::try_from(bits.as_slice()).ok());
        if let Some(bits) = known {
            return Ok(bits.map(f64::from_bits));
        }
        let found = measure()?;
        self.known.insert(question, found.map(f64::to_bits).to_vec());
        if self.is_kept
            && let Err(error) = self.keep()
            && !std::mem::replace(&mut self.told, true)
        {
            session.say(&format!(
                "what the search measures cannot be kept in {}: {error}",
                self.path.display()
            ));
        }
        Ok(found)
    }

    /// The number of answers.
    pub(super) fn measured(&self) -> usize {
        self.known.len()
    }

    fn keep(&self) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let beside = Beside::new(folder, ".search")?;
        fs::write(beside.path(), serde_json::to_vec(&self.known)?)?;
        beside.put_in_place(&self.path)
    }
}
