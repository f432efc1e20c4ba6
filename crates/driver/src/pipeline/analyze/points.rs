//! Where the points of each metric go. Variants of the model run on the samples of the evaluation, and each is compared
//! with the one that differs from it by one cause:
//!
//! ```text
//! weights         float         ─▶ only weights are rounded
//! rounding        float         ─▶ only activations are rounded, by codes without limits
//! clipping        rounding      ─▶ only activations are rounded, by codes with limits
//! bias            float         ─▶ only biases are rounded
//! host            float         ─▶ only tensors between accelerator and host are rounded
//! interaction     float         ─▶ simulation, minus all changes above
//! tables, requantization
//!                 simulation    ─▶ lowered integer graph
//! fusions         lowered graph ─▶ fused integer graph
//! ```
//!
//! So the changes add up to the change from the float model to the integer model. Intervals are paired, as the metric
//! defines them. A metric that compares with the float model has no interval for the difference of two comparisons.

use strait_compile::{Apart, Built, Role, TargetLoops, rounding_only};
use strait_core::Module;
use strait_evaluate::{Change, Note, Runs, Spread};
use strait_execute::PlanOptions;
use strait_lower::{Parameters, simulate, simulate_unlimited};
use strait_verify::LOWERED;

use crate::{
    analysis::role_snr,
    evaluation::{Judge, Side, notes, whole_of},
    pipeline::{accuracy::Prepared, before::Before, inputs, job::Job},
    report::{Cause, MetricPoints, Share},
    session::Session,
    stop::Stop,
};

/// The notes that each metric took of one model.
type Notes = Vec<Vec<Note>>;

/// The measured metrics.
pub(super) struct Measured {
    pub(super) metrics: Vec<MetricPoints>,
    /// The notes of the integer model.
    pub(super) integer: Notes,
}

/// Runs models on the samples of the evaluation.
pub(super) struct Runner<'a> {
    pub(super) evaluation: &'a Prepared,
    pub(super) float: Option<&'a Side>,
    pub(super) job: &'a Job<'a>,
    pub(super) session: &'a Session<'a>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(before: &'a Before<'_>, job: &'a Job<'a>, session: &'a Session<'a>) -> Option<Runner<'a>> {
        Some(Runner {
            evaluation: before.evaluation.as_ref()?,
            float: before.float.as_ref(),
            job,
            session,
        })
    }

    pub(super) fn notes(&self, side: &Side, what: &str) -> Result<Notes, Stop> {
        let phase = format!("evaluate {what} ({})", self.job.id());
        let (judges, samples) = (&self.evaluation.judges, &self.evaluation.samples);
        let taken = notes(side, [self.float, None], judges, samples, self.session, &phase);
        taken.map_err(|stop| inputs::placed(self.job.loaded, stop))
    }

    /// The notes of a simulation.
    fn simulated(&self, module: &Module, what: &str) -> Result<Notes, Stop> {
        let whole = whole_of(&self.job.ready.bodies, module)?;
        let side = Side::new(whole.as_ref(), &self.session.means().options, self.session)?;
        self.notes(&side, what)
    }
}

/// What was found for one cause: the notes before and after it, or why nothing was measured.
enum Step {
    Runs(usize, usize),
    Nothing(String),
}

/// A cause that alone leaves the outputs with a larger SNR than this, in dB, on the first calibration samples, changes no
/// metric by itself. It is not measured further.
const NEGLIGIBLE: f64 = 60.0;

impl Measured {
    /// Runs the variants. Without `[evaluation]` there is nothing to measure.
    ///
    /// # Errors
    /// If a run fails or needs more than it may, or if the user interrupts.
    pub(super) fn new(
        before: &Before<'_>,
        job: &Job<'_>,
        built: &Built,
        (integer, loops, apart): (&Side, &TargetLoops, &Apart<'_>),
        session: &Session<'_>,
    ) -> Result<Measured, Stop> {
        let (Some(runner), Some(float)) = (Runner::new(before, job, session), &before.float_notes) else {
            return Ok(Measured {
                metrics: Vec::new(),
                integer: Vec::new(),
            });
        };
        let spec = Some(job.target.spec());
        let defect = |error: strait_lower::LowerError| Stop::Defect(error.to_string());
        let graph = built.annotated.main();
        let has = |role: Role| graph.quant.iter().any(|(_, config)| Role::of(graph, config) == role);
        let only = |role: Role| rounding_only(&built.annotated, |config| Role::of(graph, config) == role);
        let reals = |module: &Module| simulate(module, spec, Parameters::Reals).map_err(defect);
        // The notes of all models. The float model is the first one.
        let (mut all, mut steps): (Vec<Notes>, Vec<(Cause, Step)>) = (vec![float.clone()], Vec::new());
        let ran = |all: &mut Vec<Notes>, from: usize, notes: Notes| {
            all.push(notes);
            Step::Runs(from, all.len() - 1)
        };
        for (cause, role, none) in [
            (Cause::Weights, Role::Weights, "no weights are rounded"),
            (Cause::Rounding, Role::Activations, "no activations are rounded"),
            (Cause::Bias, Role::Bias, "no biases are rounded"),
            (
                Cause::Host,
                Role::Host,
                "no rounded tensor passes between accelerator and host",
            ),
        ] {
            if !has(role) {
                steps.push((cause, Step::Nothing(none.to_owned())));
                continue;
            }
            if let Some(snr) = role_snr(apart, role, session)?.filter(|&snr| snr >= NEGLIGIBLE) {
                let why = format!("nothing: alone, it leaves the outputs at {snr:.1} dB on the calibration samples");
                steps.push((cause, Step::Nothing(why)));
                continue;
            }
            let variant = only(role)?;
            if cause != Cause::Rounding {
                let notes = runner.simulated(&reals(&variant)?, cause.words())?;
                steps.push((cause, ran(&mut all, 0, notes)));
                continue;
            }
            let unlimited = simulate_unlimited(&variant, spec).map_err(defect)?;
            let rounded = ran(&mut all, 0, runner.simulated(&unlimited, "rounding")?);
            let from = all.len() - 1;
            steps.push((cause, rounded));
            let notes = runner.simulated(&reals(&variant)?, "clipping")?;
            steps.push((Cause::Clipping, ran(&mut all, from, notes)));
        }
        all.push(runner.simulated(&reals(&built.annotated)?, "simulation")?);
        let simulated = all.len() - 1;
        let lowered = lowered(built, loops, session)?;
        let fused = runner.notes(integer, "integer")?;
        let behind = match &lowered {
            None => fused.clone(),
            Some(side) => runner.notes(side, "lowered")?,
        };
        steps.push((Cause::Requantization, ran(&mut all, simulated, behind)));
        let from = all.len() - 1;
        all.push(fused);
        let last = all.len() - 1;
        steps.push((
            Cause::Fusions,
            match lowered {
                Some(_) => Step::Runs(from, last),
                None => Step::Nothing("nothing: all fusions are proved exact".to_owned()),
            },
        ));
        let judges = &runner.evaluation.judges;
        let samples = runner.evaluation.samples.count();
        let metrics = judges.iter().enumerate().map(|(metric, judge)| {
            let of = |run: usize| {
                all.get(run)
                    .and_then(|notes| notes.get(metric))
                    .map_or(&[][..], Vec::as_slice)
            };
            let told = Told {
                judge,
                samples,
                of: &of,
            };
            told.points(&steps, (simulated, last))
        });
        Ok(Measured {
            metrics: metrics.collect(),
            integer: all.pop().unwrap_or_default(),
        })
    }
}

/// The lowered graph, ready to run; `None` if every fusion is proved exact, because the fused graph then computes the same.
fn lowered(built: &Built, loops: &TargetLoops, session: &Session<'_>) -> Result<Option<Side>, Stop> {
    let is_exact = built
        .certificates
        .iter()
        .all(|record| record.certificate.worst().max_lsb() == 0);
    let module = &built.module;
    let mut graphs = module.graphs.iter();
    let Some(position) = graphs
        .position(|graph| module.name(graph.name) == LOWERED)
        .filter(|_| !is_exact)
    else {
        return Ok(None);
    };
    let mut module = module.clone();
    module.main = strait_core::GraphId::new(position);
    let options = PlanOptions {
        loops,
        ..session.means().options
    };
    Side::new(&module, &options, session).map(Some)
}

/// One metric, with the notes that it took of each model.
pub(super) struct Told<'a> {
    pub(super) judge: &'a Judge,
    pub(super) samples: usize,
    pub(super) of: &'a dyn Fn(usize) -> &'a [Note],
}

impl Told<'_> {
    fn points(&self, steps: &[(Cause, Step)], (simulated, integer): (usize, usize)) -> MetricPoints {
        let whole = self.measured(0, integer);
        let mut shares: Vec<Share> = Vec::new();
        for (cause, step) in steps {
            if *cause == Cause::Requantization {
                shares.push(self.interaction(&shares, simulated, steps));
            }
            shares.push(match step {
                Step::Runs(from, to) => Share {
                    cause: *cause,
                    change: self.change(*from, *to),
                    note: None,
                },
                Step::Nothing(why) => Share {
                    cause: *cause,
                    change: None,
                    note: Some(why.clone()),
                },
            });
        }
        MetricPoints {
            name: whole.name,
            output: whole.output,
            unit: whole.unit,
            float: whole.float,
            integer: whole.integer,
            change: whole.change,
            shares,
        }
    }

    fn measured(&self, from: usize, to: usize) -> strait_evaluate::Measured {
        self.judge.measure.measured(
            self.samples,
            Runs {
                integer: (self.of)(to),
                float: Some((self.of)(from)),
                simulated: None,
            },
        )
    }

    /// The change of the metric from one model to another.
    pub(super) fn change(&self, from: usize, to: usize) -> Option<Change> {
        let measured = self.measured(from, to);
        if from == 0 || measured.float.is_some() {
            return measured.change;
        }
        // The metric compares with the float model, so the change is the difference of two comparisons.
        let against_float = |run: usize| Some(self.measured(0, run).integer?.value);
        Some(Change::new(against_float(to)? - against_float(from)?, Spread::Unknown))
    }

    /// What all causes together change beyond the sum of each by itself.
    fn interaction(&self, shares: &[Share], simulated: usize, steps: &[(Cause, Step)]) -> Share {
        let changes = shares.iter().map(|share| match (&share.change, &share.note) {
            (Some(change), _) => Some(change.value),
            (None, Some(_)) => Some(0.0),
            (None, None) => None,
        });
        let sum: Option<f64> = changes.sum();
        let together = self.change(0, simulated);
        let change = together.zip(sum).map(|(together, sum)| {
            let value = together.value - sum;
            Change::new(value, self.interaction_spread(simulated, steps))
        });
        Share {
            cause: Cause::Interaction,
            change,
            note: None,
        }
    }

    /// The distribution of the interaction, if each sample has one answer that is right or wrong. Each sample then
    /// contributes one number.
    fn interaction_spread(&self, simulated: usize, steps: &[(Cause, Step)]) -> Spread {
        let right = |run: usize| -> Option<Vec<f64>> {
            let right = (self.of)(run).iter().map(|note| match note {
                Note::Right([right, 1]) => Some(100.0 * *right as f64),
                _ => None,
            });
            right.collect()
        };
        let difference = |from: usize, to: usize| -> Option<Vec<f64>> {
            Some(
                right(to)?
                    .into_iter()
                    .zip(right(from)?)
                    .map(|(to, from)| to - from)
                    .collect(),
            )
        };
        let Some(mut left) = difference(0, simulated) else {
            return Spread::Unknown;
        };
        let alone = steps.iter().filter_map(|(cause, step)| match (cause, step) {
            (Cause::Requantization | Cause::Tables | Cause::Fusions, _) | (_, Step::Nothing(_)) => None,
            (_, Step::Runs(from, to)) => difference(*from, *to),
        });
        for differences in alone {
            left.iter_mut().zip(differences).for_each(|(left, own)| *left -= own);
        }
        Spread::of_mean(&left).1
    }
}
