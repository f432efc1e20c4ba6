//! Measures the models of a compilation with the metrics of `[evaluation]`.

use strait_compile::{Built, TargetLoops};
use strait_core::{Elem, Module};
use strait_evaluate::{Accuracy, Metric, Note, Output};
use strait_execute::PlanOptions;
use strait_samples::Samples;

use crate::{
    config::{
        KeyPath, Loaded,
        types::{Evaluation, MetricTable},
    },
    evaluation::{Judge, Side, Subject, Tail, classes, doubts, grid, make_judges, notes, unexpected},
    report::ChangedAnswers,
    session::Session,
    stop::Stop,
};

use super::{
    inputs,
    job::Job,
    lowered::Lowered,
    pictures::{Single, changed, singles},
    ready::Ready,
};

/// The samples for the evaluation, and the prepared metrics.
pub(super) struct Prepared {
    pub(super) samples: Samples,
    pub(super) metrics: Vec<(KeyPath, MetricTable)>,
    /// The metrics, and behind them what notes the answers of `singles`.
    all: Vec<Judge>,
    singles: Vec<Single>,
}

impl Prepared {
    /// The metrics.
    pub(super) fn judges(&self) -> &[Judge] {
        let metrics = self.all.len().saturating_sub(self.singles.len());
        self.all.get(..metrics).unwrap_or_default()
    }

    /// The notes of the answers, among the notes of all judges.
    fn answers<'n>(&self, notes: &'n [Vec<Note>]) -> &'n [Vec<Note>] {
        notes.get(self.judges().len()..).unwrap_or_default()
    }
}

pub(super) fn prepare(
    loaded: &Loaded,
    evaluation: &Evaluation,
    ready: &Ready,
    float: &Module,
    session: &Session<'_>,
) -> Result<Prepared, Stop> {
    let data = (&evaluation.data, evaluation.unreadable);
    let samples = inputs::open_samples(loaded, "evaluation", data, evaluation.samples, &ready.specs)?;
    let metrics = evaluation.chosen_metrics();
    let subject = Subject {
        outputs: &outputs(whole_end(ready, float)),
        float: Some(whole_end(ready, float)),
        inputs: &ready.specs,
        samples: &samples,
        folder: &loaded.folder,
        table: "evaluation",
        labels: evaluation.labels.as_ref().map(AsRef::as_ref),
    };
    let mut all = make_judges(&metrics, &subject).map_err(|stop| inputs::placed(loaded, stop))?;
    // Whether commands may be run is checked before any work begins.
    for command in all.iter().filter_map(|judge| judge.command.as_ref()) {
        command.allowed(session).map_err(|stop| inputs::placed(loaded, stop))?;
    }
    // Answers are noted even if they are not shown, so that processes that share the work note the same.
    let (singles, judges) = singles(&metrics, &subject);
    all.extend(judges);
    Ok(Prepared {
        samples,
        metrics,
        all,
        singles,
    })
}

/// The graph that makes the outputs of the whole model: the tail, if there is one, or else the model itself.
pub(super) fn whole_end<'a>(ready: &'a Ready, float: &'a Module) -> &'a Module {
    ready.tail.as_ref().map_or(float, |tail| &tail.module)
}

/// The outputs of the main graph.
pub(super) fn outputs(module: &Module) -> Vec<Output> {
    let graph = module.main();
    let output = |&id| {
        let value = graph.value(id)?;
        let extents = value.ty.shape.iter().map(|extent| extent.fixed().unwrap_or(0) as usize);
        Some(Output {
            name: module.name(value.name).to_owned(),
            elem: grid(value).map_or(value.ty.elem, |_| Elem::F32),
            shape: extents.collect(),
        })
    };
    graph.outputs().iter().filter_map(output).collect()
}

/// Returns the notes that metrics take of the float model. If the configuration states an expected accuracy, the
/// measured accuracy is compared with it. If the measured accuracy is implausible, the user gets a warning.
pub(super) fn float_notes(
    evaluation: &Prepared,
    float: &Side,
    loaded: &Loaded,
    session: &Session<'_>,
) -> Result<Vec<Vec<Note>>, Stop> {
    let notes = notes(
        float,
        [None; 2],
        &evaluation.all,
        &evaluation.samples,
        session,
        "evaluate (float)",
    )
    .map_err(|stop| inputs::placed(loaded, stop))?;
    let expected = (loaded.config.evaluation.as_ref()).and_then(|evaluation| evaluation.expect_float);
    let outputs = float.outputs();
    for (Judge { measure, .. }, notes) in evaluation.judges().iter().zip(&notes) {
        let table = evaluation.metrics.iter().find(|(_, table)| table.name == measure.name);
        let known = table.and_then(|(place, table)| Some((place, table.expect_float?)));
        if known.is_none() && measure.name != Metric::Top1.name() {
            continue;
        }
        let measured = measure.alone(evaluation.samples.count(), notes);
        if let Some((place, finding)) = known.and_then(|(place, known)| Some((place, unexpected(&measured, known)?))) {
            let place = place.clone().key("expect_float");
            return Err(inputs::placed(loaded, finding.about(place).into()));
        }
        if measure.name == Metric::Top1.name()
            && let Some(figure) = measured.integer
        {
            let classes = classes(&measured, table.map(|(_, table)| table), &outputs);
            let doubts = doubts(&measured, figure, classes, expected);
            let doubts = inputs::at(loaded, &["evaluation", "labels"], doubts);
            doubts.0.iter().for_each(|doubt| session.remark(doubt));
        }
    }
    Ok(notes)
}

/// The integer model, ready to run.
pub(super) fn integer_side(
    (built, tail): (&Built, Option<&Tail>),
    loops: &TargetLoops,
    session: &Session<'_>,
) -> Result<Side, Stop> {
    let options = PlanOptions {
        loops,
        ..session.means().options
    };
    Side::new(&built.module, &options, session)?.followed_by(tail, session)
}

/// As [`integer_side`], for a model that was just verified. The plan that the verifier has made is used if it is the same.
pub(super) fn verified_side(
    lowered: &mut Lowered,
    tail: Option<&Tail>,
    loops: &TargetLoops,
    session: &Session<'_>,
) -> Result<Side, Stop> {
    let own = session.means().options.context == PlanOptions::default().context;
    // With control flow, the verifier runs a graph into which the bodies are inlined.
    let plan = lowered.plan.take().filter(|_| own && lowered.built.open.is_none());
    match plan {
        Some(plan) => Side::of_plan(&lowered.built.module, plan, session)?.followed_by(tail, session),
        None => integer_side((&lowered.built, tail), loops, session),
    }
}

/// The figures of the integer model, and the samples that it answers otherwise than the float model.
pub(super) fn accuracy(
    evaluation: &Prepared,
    (float, float_notes): (Option<&Side>, &[Vec<Note>]),
    job: &Job<'_>,
    integer: &Side,
    session: &Session<'_>,
) -> Result<(Accuracy, Vec<ChangedAnswers>), Stop> {
    let phase = format!("evaluate ({})", job.target.spec().id);
    let samples = &evaluation.samples;
    let integer = notes(integer, [float, None], &evaluation.all, samples, session, &phase);
    let integer = integer.map_err(|stop| inputs::placed(job.loaded, stop))?;
    let answers = [float_notes, &integer].map(|notes| evaluation.answers(notes));
    let changed = changed(job.loaded, &evaluation.singles, answers, (&job.ready.specs, samples))?;
    let accuracy = Accuracy::new(
        evaluation.judges().iter().map(|judge| &judge.measure),
        samples.count(),
        &integer,
        Some(float_notes),
        None,
    );
    Ok((accuracy, changed))
}
