//! Measures an artifact, and optionally also the float model that it was made from and its simulation.

use std::path::Path;

use strait_container::{Digest, sha256};
use strait_core::{Module, Switches};
use strait_document::KeyPath;
use strait_evaluate::{Accuracy, Metric};
use strait_samples::{Samples, Set};
use strait_target::Registry;

use crate::{
    artifact::{self, Opened},
    config::{Loaded, types::MetricTable},
    diagnostic::Diagnostic,
    evaluation::{
        Changed, FlipsFile, Side, Subject, classes, doubts, flip_judges, make_flips, make_judges, notes, whole_of,
    },
    failure::{self, codes},
    pipeline::{self, read::read_model},
    session::Session,
    stop::Stop,
};

/// The float model that an artifact is compared with.
#[derive(Clone, Copy, Debug)]
pub struct FloatSide<'a> {
    /// Path of the model's file.
    pub file: &'a Path,
    /// True if `file` may be another model than the one that the artifact was made from.
    pub any: bool,
}

/// A configuration that an artifact was made with. The simulation of the artifact is made from it.
pub struct SimulatedSide {
    /// The configuration.
    pub loaded: Loaded,
    /// The registered targets that the configuration may use.
    pub registry: Registry,
}

/// What is to be measured.
pub struct EvaluationRequest<'a> {
    /// The samples to evaluate on.
    pub data: Set,
    /// The labels for metrics that do not name a file of their own.
    pub labels: Option<&'a Path>,
    /// The metrics, each with its key in the configuration. If the list is empty, top-1 is measured if there are
    /// labels, and agreement if there is a float model or a configuration to simulate.
    pub metrics: Vec<(KeyPath, MetricTable)>,
    /// The configuration that the metrics come from. Findings point to its lines, and commands run in its folder.
    pub configuration: Option<&'a Loaded>,
    /// A `.csv` or `.json` for the answers that the integer model gives otherwise than the float model.
    pub flips: Option<&'a Path>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// The figures of all metrics.
    pub accuracy: Accuracy,
    /// How many answers changed, if a file of them was asked for.
    pub flips: Option<Changed>,
}

impl<'a> EvaluationRequest<'a> {
    /// A request for metrics that are given by name. Each metric is measured once, even if it is named twice.
    pub fn of(data: &'a Path, labels: Option<&'a Path>, metrics: &[Metric]) -> EvaluationRequest<'a> {
        let place = KeyPath::of(&["evaluation", "metrics"]);
        EvaluationRequest {
            data: Set::from(data),
            labels,
            metrics: (metrics.iter().enumerate())
                .filter(|(at, metric)| !metrics[..*at].contains(metric))
                .map(|(_, metric)| metric)
                .map(|&metric| (place.clone(), MetricTable::of(metric)))
                .collect(),
            configuration: None,
            flips: None,
        }
    }

    /// Evaluates on the samples in `data` instead. The number of samples to use stays the same.
    pub fn instead(&mut self, data: &Path) {
        self.data.source = Set::from(data).source;
    }

    /// Returns the request that the table `[evaluation]` of a configuration describes; `None` if there is no such
    /// table.
    pub fn configured(loaded: &'a Loaded) -> Option<EvaluationRequest<'a>> {
        let evaluation = loaded.config.evaluation.as_ref()?;
        let says_metrics = evaluation.metrics.is_some() || !evaluation.metric.is_empty();
        Some(EvaluationRequest {
            data: evaluation.data.set(evaluation.samples, evaluation.unreadable),
            labels: evaluation.labels.as_ref().map(AsRef::as_ref),
            // If the configuration names no metrics, the list stays empty, and the metrics are chosen later, because
            // they depend on the labels and models that are given.
            metrics: if says_metrics {
                evaluation.chosen_metrics()
            } else {
                Vec::new()
            },
            configuration: Some(loaded),
            flips: None,
        })
    }
}

/// Measures the metrics of a request on an artifact.
///
/// The float model is read with the same sizes of dimensions, and cut at the same places, as when the artifact was
/// compiled.
///
/// # Errors
/// If samples or labels do not fit; if the artifact was not made from the float model or the configuration; if the
/// model has other inputs or classes; if a run or a command fails; or if the user interrupts.
pub fn eval(
    opened: &Opened,
    request: EvaluationRequest<'_>,
    float: Option<FloatSide<'_>>,
    simulated: Option<SimulatedSide>,
    session: &Session<'_>,
) -> Result<Evaluated, Stop> {
    let configuration = request.configuration;
    measured(opened, request, float, simulated, session).map_err(|stop| match configuration {
        Some(loaded) => pipeline::inputs::placed(loaded, stop),
        None => stop,
    })
}

fn measured(
    opened: &Opened,
    request: EvaluationRequest<'_>,
    float: Option<FloatSide<'_>>,
    simulated: Option<SimulatedSide>,
    session: &Session<'_>,
) -> Result<Evaluated, Stop> {
    let inputs = artifact::inputs(opened)?;
    let samples = Samples::open(&request.data, &inputs).map_err(failure::data)?;
    let tail = artifact::tail(opened)?;
    let integer = artifact::plan(opened, session, true)?.followed_by(tail.as_ref(), session)?;
    let outputs = integer.outputs();
    let compares = float.is_some() || simulated.is_some();
    let both = [(request.labels.is_some(), Metric::Top1), (compares, Metric::Agreement)];
    let both = both.map(|(given, metric)| given.then_some(metric));
    let default: Vec<Metric> = both.into_iter().flatten().collect();
    let wanted = match request.metrics {
        metrics if metrics.is_empty() => EvaluationRequest::of(Path::new(""), None, &default).metrics,
        metrics => metrics,
    };
    let float = float.map(|float| {
        let file = float.file;
        let mut module = session.phase("read", None, |_| float_module(opened, float))?;
        let main = module.main;
        let bodies = module.lay_open(main);
        let (canonical, _) = session.phase("canonicalise", None, |_| {
            Ok(strait_compile::canonicalise(module, &Switches::default())?)
        })?;
        Ok::<_, Stop>((file, canonical, bodies))
    });
    let float = float.transpose()?;
    let subject = Subject {
        outputs: &outputs,
        float: (float.as_ref()).map(|(_, canonical, _)| tail.as_ref().map_or(canonical, |tail| &tail.module)),
        inputs: &inputs,
        samples: &samples,
        folder: request.configuration.map_or(Path::new(""), |loaded| &loaded.folder),
        table: "evaluation",
        labels: request.labels,
    };
    let mut judges = make_judges(&wanted, &subject)?;
    let metrics = judges.len();
    let flips = request.flips.map(|path| {
        if float.is_none() {
            let message = "changed answers are those of another model, and there is none";
            let finding = Diagnostic::error(codes::EVALUATION, message);
            return Err(Stop::from(finding.help("give the float model (--model)")));
        }
        let (file, compared) = (FlipsFile::new(path)?, make_flips(&wanted, &subject)?);
        let (more, columns) = flip_judges(compared);
        judges.extend(more);
        Ok((file, columns))
    });
    let flips = flips.transpose()?;
    let lonely = (wanted.iter()).find(|(_, table)| table.metric().is_some_and(Metric::compares));
    if let Some((_, table)) = lonely.filter(|_| !compares) {
        let message = format!(
            "the metric {:?} compares with another model, and there is none",
            table.name
        );
        let finding = Diagnostic::error(codes::EVALUATION, message);
        return Err(finding
            .help("give the float model (--model) or the configuration (--simulated)")
            .into());
    }
    for command in judges.iter().filter_map(|judge| judge.command.as_ref()) {
        command.allowed(session)?;
    }
    agree(
        opened,
        (&samples, &wanted, request.labels),
        float.as_ref().map(|(_, canonical, _)| canonical),
        session,
    )?;
    let options = session.means().options;
    let float = float.as_ref().map(|(file, canonical, bodies)| {
        let same = pipeline::inputs::inputs(canonical, bodies)
            .iter()
            .map(|input| (&input.name, input.elem, &input.shape))
            .eq(inputs.iter().map(|input| (&input.name, input.elem, &input.shape)));
        let side = Side::new(&*whole_of(bodies, canonical)?, &options, session)?;
        let side = side.followed_by(tail.as_ref(), session)?;
        if !same || side.outputs() != outputs {
            let message = format!("{} has other inputs or outputs than the artifact", file.display());
            return Err(Diagnostic::error(codes::EVALUATION, message).into());
        }
        let found = notes(&side, [None; 2], &judges, &samples, session, "evaluate (float)")?;
        Ok::<_, Stop>((side, found))
    });
    let float = float.transpose()?;
    let simulated = simulated.map(|SimulatedSide { loaded, registry }| {
        let module = pipeline::simulated(&loaded, registry, opened.artifact.manifest(), session)?;
        let side = Side::new(&module, &options, session)?.followed_by(tail.as_ref(), session)?;
        let found = notes(&side, [None; 2], &judges, &samples, session, "evaluate (simulated)")?;
        Ok::<_, Stop>((side, found))
    });
    let simulated = simulated.transpose()?;
    let beside = [&float, &simulated].map(|side| side.as_ref().map(|(side, _)| side));
    let found = notes(&integer, beside, &judges, &samples, session, "evaluate (integer)")?;
    let [float, simulated] = [&float, &simulated].map(|side| side.as_ref().map(|(_, found)| found.as_slice()));
    let measures = judges.iter().take(metrics).map(|judge| &judge.measure);
    let accuracy = Accuracy::new(measures, samples.count(), &found, float, simulated);
    if let Some(top1) = accuracy.of(Metric::Top1.name())
        && let Some(figure) = top1.float
    {
        let table = wanted
            .iter()
            .map(|(_, table)| table)
            .find(|table| table.name == top1.name);
        doubts(top1, figure, classes(top1, table, &outputs), None)
            .0
            .iter()
            .for_each(|doubt| session.remark(doubt));
    }
    let flips = flips.map(|(file, columns)| {
        let notes = found.get(metrics..).unwrap_or_default();
        file.write(&columns, notes, &samples)
    });
    Ok(Evaluated {
        accuracy,
        flips: flips.transpose()?,
    })
}

/// If several processes share the work, makes sure that all of them work on the same.
fn agree(
    opened: &Opened,
    (samples, metrics, labels): (&Samples, &[(KeyPath, MetricTable)], Option<&Path>),
    float: Option<&Module>,
    session: &Session<'_>,
) -> Result<(), Stop> {
    if session.exchange().is_none() {
        return Ok(());
    }
    let metrics: Vec<String> = metrics.iter().map(|(_, table)| format!("{table:?}")).collect();
    let wanted = format!(
        "{} labels={} float={}",
        metrics.join(" "),
        labels.is_some(),
        float.is_some()
    );
    let digest = session.phase("digest", None, |_| Ok(samples.digest().map_err(failure::data)?))?;
    let facts = [
        ("artifact".to_owned(), opened.artifact.manifest().digest()),
        ("set of samples".to_owned(), Digest(digest)),
        ("list of metrics".to_owned(), sha256(wanted.as_bytes())),
    ];
    session.agree("agree", &facts)
}

/// Reads the float model with the same settings with which the artifact's model was read.
pub(crate) fn float_module(opened: &Opened, float: FloatSide<'_>) -> Result<Module, Stop> {
    let read = read_model(
        &opened.deployment.reading,
        false,
        float.file,
        std::num::NonZeroUsize::MIN,
    )?;
    let expected = opened.artifact.manifest().sources.model;
    if float.any || read.files.digest() == expected {
        return Ok(read.module);
    }
    let message = format!("the artifact was not made from {}", float.file.display());
    let finding = Diagnostic::error(codes::EVALUATION, message).note(format!(
        "the digest of this model is {}, that of the artifact's model is {expected}",
        read.files.digest()
    ));
    Err(finding.help("`--any-model` compares with it all the same").into())
}
