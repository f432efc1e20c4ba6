//! Collects statistics of the float values. If nothing has changed since an earlier run, the statistics are read from
//! the file that the earlier run wrote.

use std::{
    borrow::Cow,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use strait_compile::CompileError;
use strait_container::{Beside, Digest, ModelFiles};
use strait_core::{Bodies, Module, bytes};
use strait_exchange::Exchange;
use strait_execute::Tensor;
use strait_quantize::{
    Observation, ObserveError, Requests, observe,
    statistics::{self, Coverage, StatisticsKey},
};
use strait_samples::{Kind, Samples, Scratch};

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    failure,
    session::Session,
    stop::Stop,
    table,
};

use super::first::{self, FirstOutputs};

/// The version of the statistics, which is part of their digest. The version is raised when a change of the program
/// makes the same samples give different statistics.
const VERSION: &str = "strait-statistics 1";

/// A file of statistics may have at most this many bytes. Larger files are not read.
pub(super) const MOST_BYTES: u64 = 1 << 32;

/// Describes the statistics that are needed: of which module, of which kinds, and on which samples.
pub(super) struct Needed<'a> {
    pub(super) module: &'a Module,
    /// The bodies of control flow that are inlined in the module.
    pub(super) bodies: &'a Bodies,
    pub(super) requests: &'a Requests,
    pub(super) samples: &'a Samples,
    pub(super) covered: Coverage,
    pub(super) key: StatisticsKey,
    /// The files that the model was read from.
    pub(super) model: &'a ModelFiles,
}

/// Returns the statistics of all calibration samples.
///
/// The statistics are stored in the folder `cache`, once [`Observed::keep`] is called. The file's name depends on
/// everything that the statistics depend on: the graph with its weights, and the samples with their preprocessing. If
/// there is an undamaged file of that name, the statistics are read from this file, and the user is told.
///
/// # Errors
/// If samples cannot be used, the model cannot be run, or the user interrupts.
pub(super) fn statistics(needed: &Needed<'_>, cache: &Path, session: &Session<'_>) -> Result<Observed, Stop> {
    // Without samples, the scales come from a record of a vendor's tool or from the model itself. Nothing has to be
    // observed.
    if needed.samples.count() == 0 {
        return Ok(Observed::default());
    }
    let path = cache.join(file_name(&needed.key));
    let found = needed.found(&path, session)?;
    Ok(Observed {
        observation: found.observation.into(),
        outputs: found.outputs.into(),
        unkept: found.is_new.then_some((path, needed.key)),
    })
}

/// Statistics of all calibration samples.
#[derive(Clone, Default)]
pub(super) struct Observed {
    pub(super) observation: Arc<Observation>,
    /// The outputs of the float model for the first samples, in their order. There are none if the outputs are large, or
    /// if the statistics were read from a file beside which no outputs are stored.
    pub(super) outputs: Arc<Vec<Vec<Tensor>>>,
    /// Where the statistics have to be stored, and under which key. `None` if they are stored already.
    pub(super) unkept: Option<(PathBuf, StatisticsKey)>,
}

impl Observed {
    /// Stores the statistics and the outputs, if they are new. If a file cannot be written, the result says so. This is no
    /// error, because only the next run takes longer.
    ///
    /// # Errors
    /// If a file of the model was changed since it was read: the key was computed from the files before the run.
    pub(super) fn keep(&self, model: &ModelFiles) -> Result<Option<String>, Stop> {
        let Some((path, key)) = &self.unkept else {
            return Ok(None);
        };
        model.unchanged().map_err(failure::model_changed)?;
        let folder = path.parent().unwrap_or(path).display();
        let failed = |error| format!("the statistics cannot be kept in {folder}: {error}");
        let kept = keep(path, &self.observation, key).and_then(|()| match self.outputs.as_slice() {
            [] => Ok(()),
            outputs => first::keep(path, outputs, key),
        });
        Ok(kept.err().map(failed))
    }

    /// Stores the statistics, if they are new, and returns them. Nothing asks for the outputs.
    ///
    /// # Errors
    /// As for [`Observed::keep`].
    pub(super) fn kept(mut self, model: &ModelFiles, session: &Session<'_>) -> Result<Observation, Stop> {
        self.outputs = Arc::default();
        if let Some(text) = self.keep(model)? {
            session.say(&text);
        }
        Ok(Arc::unwrap_or_clone(self.observation))
    }
}

/// Statistics. If `is_new` is true, the statistics contain more than the file from which they were read, and the file
/// has to be written again.
pub(super) struct CachedObservation {
    pub(super) observation: Observation,
    /// As for [`Observed`].
    outputs: Vec<Vec<Tensor>>,
    pub(super) is_new: bool,
}

impl Needed<'_> {
    /// Reads the statistics in the file at `path`, runs the model to measure the statistics that the file lacks, and
    /// returns all statistics.
    ///
    /// The caller checks that the files of the model have not changed before it stores new statistics.
    ///
    /// # Errors
    /// As for [`statistics`].
    pub(super) fn found(&self, path: &Path, session: &Session<'_>) -> Result<CachedObservation, Stop> {
        // Processes that share the work have to do the same steps, so none of them uses what only it may find.
        let kept = self.kept(path).filter(|_| session.exchange().is_none());
        let Some(mut observation) = kept else {
            let (observation, outputs) = self.observed(self.requests, session)?;
            return Ok(CachedObservation {
                observation,
                outputs,
                is_new: true,
            });
        };
        let unmet = self.requests.unmet(self.module, self.module.main, &observation);
        let samples = table::count(self.covered.count() as usize, "sample");
        session.say(&format!(
            "the statistics of {samples} are reused from {}",
            path.display()
        ));
        let is_new = !unmet.is_empty();
        let outputs = if is_new {
            let (missing, all) = (unmet.iter().count(), self.requests.iter().count());
            session.say(&format!("not in it, and observed now: {missing} of {all} statistics"));
            let (more, of_samples) = self.observed(&unmet, session)?;
            observation.extend(more);
            of_samples
        } else {
            first::kept(path, &self.key)
        };
        Ok(CachedObservation {
            observation,
            outputs,
            is_new,
        })
    }

    /// The statistics in a file, if the file belongs to the same model and samples.
    fn kept(&self, path: &Path) -> Option<Observation> {
        let (key, found) = statistics::read(&strait_mapped::map(path, MOST_BYTES).ok()?).ok()?;
        (key == self.key && *found.covered() == self.covered).then_some(found)
    }

    /// The requested statistics, and the outputs of the model for the first samples.
    fn observed(&self, requests: &Requests, session: &Session<'_>) -> Result<(Observation, Vec<Vec<Tensor>>), Stop> {
        let outputs = FirstOutputs::default();
        let samples = Adapter {
            // If several processes share the samples, none of them has all outputs.
            outputs: session.exchange().is_none().then_some(&outputs),
            ..Adapter::shared(self.samples, session)
        };
        let all = (requests, &samples as &dyn observe::Samples, &self.covered);
        let observed = strait_compile::observe((self.module, self.bodies), all, &session.means(), session);
        let observed = observed.map_err(|error| match error {
            CompileError::Observe(error) => stop(error, self.samples),
            other => other.into(),
        })?;
        Ok((observed, outputs.in_order()))
    }
}

/// A warning for each input that has the same numbers in all samples, since measured ranges are then meaningless.
pub(super) fn constant_inputs(module: &Module, bodies: &Bodies, observation: &Observation) -> Diagnostics {
    let graph = module.main();
    let names = bodies
        .own_inputs(graph)
        .iter()
        .filter_map(|&input| Some(module.name(graph.value(input)?.name)));
    let constant = names.filter_map(|name| {
        let statistics = observation.elements(name)?;
        // An attention mask, whose numbers are 0 or infinite, may be the same in all samples.
        let is_finite = statistics.infinite == [0, 0];
        let only = statistics
            .min()
            .filter(|&min| is_finite && statistics.max() == Some(min))?;
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

/// Adapts samples to the trait that observing uses.
pub(crate) struct Adapter<'a> {
    samples: &'a Samples,
    exchange: Option<&'a Exchange<'a>>,
    outputs: Option<&'a FirstOutputs>,
}

impl<'a> Adapter<'a> {
    /// Samples that each process works on alone.
    pub(crate) fn alone(samples: &'a Samples) -> Adapter<'a> {
        Adapter {
            samples,
            exchange: None,
            outputs: None,
        }
    }

    /// Samples that this process may share with others.
    pub(crate) fn shared(samples: &'a Samples, session: &'a Session<'_>) -> Adapter<'a> {
        Adapter {
            samples,
            exchange: session.exchange(),
            outputs: None,
        }
    }
}

impl observe::Samples for Adapter<'_> {
    fn count(&self) -> usize {
        self.samples.count()
    }

    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let sample = self.samples.sample(index, &mut Scratch::default());
        let sample = sample.map_err(|error| error.sentence())?;
        let tensors = sample
            .iter()
            .map(|one| Tensor::from_bytes(one.elem(), one.shape(), one.bytes()));
        tensors.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    fn observed(&self, index: usize, outputs: Vec<Tensor>) {
        if let Some(kept) = self.outputs {
            kept.take(index, outputs);
        }
    }

    fn exchange(&self) -> Option<&Exchange<'_>> {
        self.exchange
    }
}

fn stop(error: ObserveError, samples: &Samples) -> Stop {
    match error {
        ObserveError::Stopped => Stop::Interrupted,
        ObserveError::NoSamples => Diagnostic::error(Kind::Count.code(), error.to_string()).into(),
        // The observer's error contains only a sentence. Reading the sample again gives an error with all details.
        ObserveError::Data { index, text } => match samples.sample(index, &mut Scratch::default()) {
            Err(error) => failure::data(error).into(),
            Ok(_) => Diagnostic::error(Kind::NotFinite.code(), text).into(),
        },
        ObserveError::Execute(error) => error.into(),
        ObserveError::Run { index, source } => Stop::from(source).note(&format!("at calibration sample {index}")),
    }
}

/// Computes the digest of a graph and its weights.
///
/// # Errors
/// If the module cannot be written as bytes, which is a bug in Strait.
pub(super) fn of_graph(module: &Module) -> Result<[u8; 32], Stop> {
    let mut module = Cow::Borrowed(module);
    if module.has_roundings() {
        // The bytes of a module do not contain scales that come from the source model. So these scales are turned into
        // nodes first.
        let rounded = module.to_mut().round_to_grids();
        rounded.map_err(|error| Stop::Defect(error.to_string()))?;
    }
    let encoded = bytes::encode(&module).map_err(|error| Stop::Defect(error.to_string()))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(VERSION.as_bytes());
    hasher.update(blake3::hash(&encoded.ir).as_bytes());
    for tensor in &encoded.tensors {
        hasher.update(blake3::hash(tensor.bytes()).as_bytes());
    }
    Ok(hasher.finalize().into())
}

/// The digests of everything that statistics depend on. `graph` is the digest of the graph.
///
/// # Errors
/// If samples cannot be read.
pub(super) fn key(graph: [u8; 32], samples: &Samples) -> Result<StatisticsKey, Stop> {
    let digest = samples.digest().map_err(failure::data)?;
    Ok(StatisticsKey {
        model: graph,
        data: blake3::hash(Digest(digest).to_string().as_bytes()).into(),
    })
}

/// The file name under which a cache has the statistics for a key.
pub(super) fn file_name(key: &StatisticsKey) -> PathBuf {
    let both = blake3::hash(&[key.model, key.data].concat());
    format!("{}.statistics", &both.to_hex()[..32]).into()
}

/// Writes a file beside the destination and renames it, so that no other program reads a half-written file. A missing
/// folder is made.
///
/// # Errors
/// If the folder or the file cannot be written.
pub(super) fn keep(path: &Path, observation: &Observation, key: &StatisticsKey) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    let beside = Beside::new(folder, ".statistics")?;
    statistics::write(observation, key, File::create(beside.path())?)?;
    beside.put_in_place(path)
}
