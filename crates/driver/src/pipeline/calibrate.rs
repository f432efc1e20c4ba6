//! Collects statistics without compiling, either for all calibration samples or for one of several equal parts (a
//! share).
//!
//! Shares can be observed on different machines. Only the files with the statistics have to be copied back. When they
//! are joined, the result is byte for byte the file that a single process would have written, and has the name that a
//! compilation looks for.

use std::{
    fmt,
    num::NonZeroU64,
    path::{Path, PathBuf},
};

use serde::Serialize;
use strait_quantize::statistics::{Coverage, StatisticsKey};
use strait_samples::Kind;

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::{Diagnostic, Diagnostics},
    dialect::expanded,
    failure::{self, codes, unwritten},
    session::{Session, Share},
    stop::Stop,
    table, targets,
};

use super::{
    before, inputs, nan,
    observe::{CachedObservation, Needed, constant_inputs, file_name, keep},
    ready::make_ready,
};

/// A file of statistics that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// Path of the file.
    pub file: PathBuf,
    /// Digest of the graph with its weights, and of the way in which it was observed.
    pub model: String,
    /// Digest of all samples with their preprocessing.
    pub data: String,
    /// Number of samples that were observed.
    pub samples: u64,
    /// The total number of calibration samples.
    pub of: u64,
    /// The share, if only a share of the samples was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
}

impl Calibrated {
    pub(super) fn new(file: PathBuf, key: &StatisticsKey, covered: &Coverage, share: Option<Share>) -> Calibrated {
        let hex = |digest: [u8; 32]| blake3::Hash::from(digest).to_hex().to_string();
        Calibrated {
            file,
            model: hex(key.model),
            data: hex(key.data),
            samples: covered.count(),
            of: covered.of(),
            share: share.map(|share| share.to_string()),
        }
    }
}

/// Writes one line for each property.
impl fmt::Display for Calibrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "statistics: {}", self.file.display())?;
        let share = self
            .share
            .as_ref()
            .map(|share| format!(" (share {share})"))
            .unwrap_or_default();
        writeln!(f, "samples: {} of {}{share}", self.samples, self.of)
    }
}

/// Writes the statistics of the calibration samples, or of a share of the samples, to `out`. If `out` is `None`, the
/// file is written to the cache, where a compilation looks for the statistics of all samples. A file that already
/// exists is reused. If several processes share the work, each of them observes its share, and writes the statistics of all
/// samples.
///
/// # Errors
/// If anything is wrong with the configuration, the model, the samples or the file's path, or if the user interrupts.
pub fn calibrate(
    loaded: &Loaded,
    shard: Option<Share>,
    out: Option<&Path>,
    session: &Session<'_>,
) -> Result<Calibrated, Stop> {
    out.map_or(Ok(()), outside)?;
    let loaded = &*expanded(loaded, &targets::registry([])?)?;
    let ready = make_ready(loaded, session)?;
    let count = ready.samples.count() as u64;
    if count == 0 {
        let (path, message) = match ready.record {
            Some(_) => (
                KeyPath::of(&["calibration", "record"]),
                "nothing is measured: the grids are those of the record",
            ),
            None => (
                KeyPath::of(&["calibration"]),
                "nothing is measured: there are no samples, and the grids are those of the model",
            ),
        };
        return Err(loaded.error(codes::RULE, &path, message, "").into());
    }
    session.agree("agree", &before::facts(loaded, &ready, &[], None)?)?;
    let covered = match shard {
        None => Coverage::all(count),
        Some(share) => part(share, count)?,
    };
    let needed = Needed {
        covered,
        ..ready.needed_of_canonical()?
    };
    let name = file_name(&needed.key);
    let name = match shard {
        Some(share) => name.with_extension(format!("{}-of-{}.statistics", share.part(), share.parts())),
        None => name,
    };
    let path = out.map_or_else(
        || loaded.config.calibration.cache.as_ref().join(&name),
        |out| place(out, &name),
    );
    let CachedObservation {
        observation, is_new, ..
    } = needed.found(&path, session)?;
    let constant = constant_inputs(&ready.canonical, &ready.bodies, &observation);
    let constant = inputs::at(loaded, &["calibration", "data"], constant);
    let not_numbers = nan::found(loaded, &ready.canonical, &observation)?;
    constant
        .0
        .iter()
        .chain(&not_numbers.0)
        .for_each(|finding| session.remark(finding));
    if is_new {
        needed.model.unchanged().map_err(failure::model_changed)?;
        keep(&path, &observation, &needed.key).map_err(|error| unwritten(&path, &error))?;
    }
    Ok(Calibrated::new(path, &needed.key, observation.covered(), shard))
}

/// The samples of a share.
fn part(share: Share, count: u64) -> Result<Coverage, Diagnostics> {
    let number = |number: usize| NonZeroU64::new(number as u64).unwrap_or(NonZeroU64::MIN);
    let (part, parts) = (number(share.part()), number(share.parts()));
    let covered = Coverage::share(part, parts, count).filter(|_| parts.get() <= count);
    covered.ok_or_else(|| {
        let samples = table::count(count as usize, "sample");
        let message = format!("{samples} cannot be split into {parts} shares");
        let finding = Diagnostic::error(Kind::Count.code(), message);
        finding.help(format!("ask for {count} shares at most")).into()
    })
}

/// Returns the path of the file that `out` stands for. If `out` is a folder, or ends with a slash, the file is in this
/// folder and has the name `name`. Otherwise `out` is the path itself.
pub(super) fn place(out: &Path, name: &Path) -> PathBuf {
    let is_folder = out.is_dir() || out.as_os_str().to_string_lossy().ends_with(['/', '\\']);
    if is_folder { out.join(name) } else { out.to_owned() }
}

/// Refuses statistics inside the folder of an artifact.
pub(super) fn outside(out: &Path) -> Result<(), Diagnostics> {
    failure::outside(out, "statistics are not kept in", "name a place elsewhere with --out")
}
