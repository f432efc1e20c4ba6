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
//! requantization  simulation    ─▶ lowered integer graph, with exact tables
//! tables          the same      ─▶ lowered integer graph, with the target's tables
//! fusions         lowered graph ─▶ fused integer graph
//! ```
//!
//! So the changes add up to the change from the float model to the integer model. Intervals are paired, as the metric
//! defines them. A metric that compares with the float model has no interval for the difference of two comparisons.

use strait_compile::{Apart, Built, Role, TargetLoops, rounding_only};
use strait_core::{GraphId, Module};
use strait_evaluate::{Change, Note, Runs, Spread};
use strait_execute::PlanOptions;
use strait_lower::{Parameters, simulate, simulate_unlimited, with_exact_tables};
use strait_verify::LOWERED;

use crate::{
    analysis::roles_snr,
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
        let (judges, samples) = (self.evaluation.judges(), &self.evaluation.samples);
        let taken = notes(side, [self.float, None], judges, samples, self.session, &phase);
        taken.map_err(|stop| inputs::placed(self.job.loaded, stop))
    }

    /// The notes of an integer graph.
    fn integer(&self, module: &Module, loops: &TargetLoops, what: &str) -> Result<Notes, Stop> {
        let options = PlanOptions {
            loops,
            ..self.session.means().options
        };
        self.followed(Side::new(module, &options, self.session)?, what)
    }

    /// The notes of a simulation.
    fn simulated(&self, module: &Module, what: &str) -> Result<Notes, Stop> {
        let whole = whole_of(&self.job.ready.bodies, module)?;
        self.followed(
            Side::new(whole.as_ref(), &self.session.means().options, self.session)?,
            what,
        )
    }

    /// The notes of a stage with what lies behind the cut of the model.
    fn followed(&self, side: Side, what: &str) -> Result<Notes, Stop> {
        let canonical = self.job.canonical;
        let outputs = canonical.main().outputs().iter();
        let outputs = outputs.filter_map(|&id| canonical.main().value(id));
        let names: Vec<String> = outputs.map(|value| canonical.name(value.name).to_owned()).collect();
        let side = side.followed_as(self.job.ready.tail.as_ref(), &names, self.session)?;
        self.notes(&side, what)
    }
}

/// What was found for one cause: the notes before and after it, or why nothing was measured.
enum Step {
    Runs(usize, usize),
    Nothing(String),
}

/// If the noise of one cause is this far below that of all causes together, in dB, on the first calibration samples, it is
/// less than a hundredth of the noise, and the cause changes no metric by itself. It is not measured further.
const NEGLIGIBLE: f64 = 20.0;

/// A cause whose noise is this far below the outputs, in dB, changes no metric either.
const SILENT: f64 = 60.0;

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
        let together = roles_snr(apart, |_| true, session)?;
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
            let alone = roles_snr(apart, |other| other == role, session)?;
            if let Some((alone, together)) = alone.zip(together)
                && (alone >= SILENT || alone >= together + NEGLIGIBLE)
            {
                let why = format!("nothing: alone {alone:.1} dB at the outputs, all together {together:.1} dB");
                steps.push((cause, Step::Nothing(why.clone())));
                if cause == Cause::Rounding {
                    steps.push((Cause::Clipping, Step::Nothing(why)));
                }
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
        // If tables or fusions are exact, the graphs before and after them compute the same.
        let fused = runner.notes(integer, "integer")?;
        let lowered = match has_exact_fusions(built) {
            true => fused.clone(),
            false => match of_lowered(built) {
                Some(lowered) => runner.integer(&lowered, loops, "lowered")?,
                None => return Err(Stop::Defect("there is no lowered graph".into())),
            },
        };
        let exact = match of_lowered(built) {
            Some(lowered) => with_exact_tables(&lowered, &built.annotated).map_err(defect)?,
            None => None,
        };
        let with_exact = match &exact {
            Some(exact) => runner.integer(exact, loops, "exact tables")?,
            None => lowered.clone(),
        };
        steps.push((Cause::Requantization, ran(&mut all, simulated, with_exact)));
        let from = all.len() - 1;
        let tables = match exact {
            Some(_) => ran(&mut all, from, lowered),
            None => Step::Nothing("nothing: all tables are correctly rounded, or there are none".to_owned()),
        };
        steps.push((Cause::Tables, tables));
        let from = all.len() - 1;
        let fusions = match has_exact_fusions(built) {
            false => ran(&mut all, from, fused.clone()),
            true => Step::Nothing("nothing: all fusions are proved exact".to_owned()),
        };
        steps.push((Cause::Fusions, fusions));
        let last = all.len();
        all.push(fused);
        let judges = runner.evaluation.judges();
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

/// True if every fusion is proved exact, so that the fused graph computes the same as the lowered graph.
fn has_exact_fusions(built: &Built) -> bool {
    let mut records = built.certificates.iter();
    records.all(|record| record.certificate.worst().max_lsb() == 0)
}

/// The integer model with the lowered graph as its main graph.
fn of_lowered(built: &Built) -> Option<Module> {
    let module = &built.module;
    let mut graphs = module.graphs.iter();
    let position = graphs.position(|graph| module.name(graph.name) == LOWERED)?;
    let mut module = module.clone();
    module.main = GraphId::new(position);
    Some(module)
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
                    figure: self.measured(0, *to).integer,
                    note: None,
                },
                Step::Nothing(why) => Share {
                    cause: *cause,
                    change: None,
                    figure: None,
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
            figure: None,
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
