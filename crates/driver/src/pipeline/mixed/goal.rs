//! The metric of a goal, ready to be measured.

use strait_compile::{Built, TargetLoops};
use strait_evaluate::{Accuracy, Note};
use strait_samples::Samples;

use crate::{
    config::{
        KeyPath, goals,
        types::{AccuracyDrop, Optimize},
    },
    evaluation::{Judge, Side, Subject, make_judges, notes, whole_of},
    session::Session,
    stop::Stop,
};

use super::super::{
    accuracy::{integer_side, outputs, whole_end},
    inputs,
    job::Job,
};

/// A metric, and the float model's results for it.
pub(super) struct Goal<'a> {
    job: &'a Job<'a>,
    /// The samples of `[optimize]`. `None` if the calibration samples are measured.
    own: Option<Samples>,
    judges: Vec<Judge>,
    float: Side,
    notes: Vec<Vec<Note>>,
}

impl<'a> Goal<'a> {
    /// Opens the samples and the labels, and runs the float model.
    ///
    /// # Errors
    /// If samples, labels or outputs do not fit the metric, or a run fails.
    pub(super) fn new(job: &'a Job<'a>, goal: &AccuracyDrop, session: &Session<'_>) -> Result<Goal<'a>, Stop> {
        let optimize: &Optimize = &job.loaded.config.optimize;
        let own = optimize.data.as_ref().map(|data| {
            let data = (data, optimize.unreadable);
            inputs::open_samples(job.loaded, "optimize", data, optimize.samples, &job.ready.specs)
        });
        let own = own.transpose()?;
        let place = KeyPath::of(&["optimize", "accuracy_drop", "metric"]);
        let Some(table) = goals::metric(job.loaded, &goal.metric) else {
            return Err(Stop::Defect("a metric was not checked".into()));
        };
        let whole = whole_of(&job.ready.bodies, &job.ready.canonical)?;
        let subject = Subject {
            outputs: &outputs(whole_end(job.ready, whole.as_ref())),
            float: Some(whole_end(job.ready, whole.as_ref())),
            inputs: &job.ready.specs,
            samples: own.as_ref().unwrap_or(&job.ready.samples),
            folder: &job.loaded.folder,
            labels: optimize.labels.as_ref().map(AsRef::as_ref),
            table: "optimize",
        };
        let judges = make_judges(&[(place, table)], &subject).map_err(|stop| inputs::placed(job.loaded, stop))?;
        for command in judges.iter().filter_map(|judge| judge.command.as_ref()) {
            command
                .allowed(session)
                .map_err(|stop| inputs::placed(job.loaded, stop))?;
        }
        let float = Side::new(whole.as_ref(), &session.means().options, session)?;
        let float = float.followed_by(job.ready.tail.as_ref(), session)?;
        let taken = notes(&float, [None; 2], &judges, subject.samples, session, "search (float)");
        let notes = taken.map_err(|stop| inputs::placed(job.loaded, stop))?;
        Ok(Goal {
            job,
            own,
            judges,
            float,
            notes,
        })
    }

    pub(super) fn samples(&self) -> &Samples {
        self.own.as_ref().unwrap_or(&self.job.ready.samples)
    }

    /// The loss of the integer model in points, of the output that loses most.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(super) fn loss(&self, built: &Built, session: &Session<'_>) -> Result<f64, Stop> {
        let loops = TargetLoops(self.job.target.clone());
        let integer = integer_side((built, self.job.ready.tail.as_ref()), &loops, session)?;
        let compares = self.judges.iter().any(|judge| judge.measure.meter.compares());
        let beside = [Some(&self.float).filter(|_| compares), None];
        let phase = format!("trial ({})", self.job.id());
        let taken = notes(&integer, beside, &self.judges, self.samples(), session, &phase);
        let taken = taken.map_err(|stop| inputs::placed(self.job.loaded, stop))?;
        let measures = self.judges.iter().map(|judge| &judge.measure);
        let accuracy = Accuracy::new(measures, self.samples().count(), &taken, Some(&self.notes), None);
        let losses = accuracy.metrics.iter().map(|metric| metric.loss(None));
        let losses: Option<Vec<f64>> = losses.collect();
        let worst = losses.and_then(|losses| losses.into_iter().reduce(f64::max));
        worst.ok_or_else(|| Stop::Defect("the metric of a goal has no change".into()))
    }
}
