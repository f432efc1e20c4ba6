//! Observe: statistics of the float values, from a file where nothing has changed since it was written.

use std::{
    fs::{self, File},
    path::Path,
};

use ndarray::ArrayD;
use strait_container::{Beside, Digest};
use strait_core::{Module, bytes};
use strait_execute::{PlanOptions, cost};
use strait_quantize::{Observation, ObserveError, observe, statistics};
use strait_samples::{Kind, Samples, Scratch};

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    failure,
    limits::Demand,
    session::Session,
    stop::Stop,
    table,
};

/// Raised when the same samples give other statistics.
const VERSION: &str = "strait-statistics 1";

/// A larger file is no file of statistics.
const MOST_BYTES: u64 = 1 << 32;

/// The statistics of all float values of the main graph of a canonical module.
///
/// They are kept in the folder `cache` under a name made of everything that they depend on: the graph with its weights,
/// and the samples with their preprocessing. A file of that name that is whole is used instead of a run, and that is
/// said; a folder that cannot be written costs the next run time and nothing else, and that is said, too.
///
/// # Errors
/// Samples that cannot be used, a model that cannot be run, an interruption.
pub(super) fn statistics(
    module: &Module,
    samples: &Samples,
    cache: &Path,
    session: &Session<'_>,
) -> Result<Observation, Stop> {
    let key = session.phase("digest", None, |_| key(module, samples))?;
    let path = cache.join(format!("{}.statistics", &key.to_hex()[..32]));
    if let Some(found) = reuse(&path, key.as_bytes()) {
        session.say(&format!(
            "the statistics of {} are reused from {}",
            table::count(found.samples as usize, "sample"),
            path.display()
        ));
        return Ok(found);
    }
    let cost = cost(module, module.main).map_err(failure::execute)?;
    let gathered = observe::most_bytes(module, module.main, samples.count() as u64);
    let threads = session.admit(&Demand::new(cost).observed(gathered), samples.count())?;
    let observation = session.phase("observe", Some(samples.count()), |done| {
        let options = PlanOptions {
            context: session.context,
            ..PlanOptions::default()
        };
        observe(
            module,
            module.main,
            None,
            &Adapter(samples),
            threads,
            &options,
            &mut |count| done(count),
        )
        .map_err(stop)
    })?;
    if let Err(error) = keep(cache, &path, &observation, key.as_bytes()) {
        session.say(&format!(
            "the statistics cannot be kept in {}: {error}",
            cache.display()
        ));
    }
    Ok(observation)
}

/// A warning for each input whose numbers are the same in all samples: no range that was measured says anything.
pub(super) fn constant_inputs(module: &Module, observation: &Observation) -> Diagnostics {
    let graph = module.main();
    let names = graph
        .inputs()
        .iter()
        .filter_map(|&input| Some(module.name(graph.value(input)?.name)));
    let constant = names.filter_map(|name| {
        let statistics = observation.values.get(name)?;
        let only = statistics.min().filter(|&min| statistics.max() == Some(min))?;
        let message = format!("all numbers of the calibration samples for the input {name:?} are {only}");
        let note = "the ranges of all layers are measured on these samples";
        let help = "look at the file, and at the steps of [preprocess]";
        Some(
            Diagnostic::warning(failure::codes::CONSTANT, message)
                .note(note)
                .help(help),
        )
    });
    Diagnostics(constant.collect())
}

/// The samples as the observer takes them.
struct Adapter<'a>(&'a Samples);

impl observe::Samples for Adapter<'_> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn sample(&self, index: usize) -> Result<Vec<ArrayD<f32>>, String> {
        let sample = self.0.sample(index, &mut Scratch::default());
        sample.map_err(|error| error.sentence())
    }
}

fn stop(error: ObserveError) -> Stop {
    match error {
        ObserveError::Stopped => Stop::Interrupted,
        ObserveError::NoSamples => Diagnostic::error(Kind::Count.code(), error.to_string()).into(),
        ObserveError::Data { text, .. } => Diagnostic::error(Kind::NotFinite.code(), text).into(),
        ObserveError::Execute(error) => failure::execute(error),
        ObserveError::Run { index, source } => match failure::execute(source) {
            Stop::Found(mut found) => {
                found
                    .0
                    .iter_mut()
                    .for_each(|finding| finding.notes.push(format!("at calibration sample {index}")));
                Stop::Found(found)
            }
            other => other,
        },
    }
}

fn key(module: &Module, samples: &Samples) -> Result<blake3::Hash, Stop> {
    let encoded = bytes::encode(module).map_err(|error| Stop::Defect(error.to_string()))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(VERSION.as_bytes());
    hasher.update(blake3::hash(&encoded.ir).as_bytes());
    for tensor in &encoded.tensors {
        hasher.update(blake3::hash(tensor.bytes()).as_bytes());
    }
    hasher.update(Digest(samples.digest()).to_string().as_bytes());
    Ok(hasher.finalize())
}

fn reuse(path: &Path, key: &[u8; 32]) -> Option<Observation> {
    statistics::read(&strait_mapped::map(path, MOST_BYTES).ok()?, key).ok()
}

/// Writes beside and renames, so that nobody reads half a file.
fn keep(folder: &Path, path: &Path, observation: &Observation, key: &[u8; 32]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let beside = Beside::new(folder, ".statistics")?;
    statistics::write(observation, key, File::create(beside.path())?)?;
    beside.put_in_place(path)
}
