//! Compiles and measures sets of rules.

use std::{cell::RefCell, sync::Arc};

use strait_compile::{
    Algorithms, Built, CompileError, InMemory, Watch,
    types::{Noises, multiply_adds, node_operations},
};
use strait_core::{Module, Placement, Port};
use strait_execute::Tensor;
use strait_quantize::observe::Samples as _;

use crate::{report::PrecisionStep, sanity::parsed, session::Session, stop::Stop};

use super::super::{
    Adapter,
    job::Job,
    lowered::{annotated_with, build_with, lower},
};
use super::memo::Memo;

/// The largest number of samples on which sensitivities are measured.
const SAMPLES: usize = 16;

/// The number of multiply-adds, and of other elements that are visited, that measuring sensitivities may take.
const OPERATIONS: u64 = 500_000_000_000;

/// Codes with this many bits are wide.
const WIDE: u8 = 16;

/// Shares of the multiply-adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    /// Those on activations of 16 bits.
    pub(super) wide: f64,
    /// Those on the host.
    pub(super) host: f64,
}

/// A model, from which other ones are made with further rules.
pub(super) struct Trials<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) session: &'a Session<'a>,
    /// The model with the rules so far, without algorithms.
    pub(super) plain: Built,
    pub(super) memo: RefCell<Memo>,
}

impl<'a> Trials<'a> {
    /// Compiles the model with the rules so far.
    ///
    /// # Errors
    /// If it cannot be compiled, or the user interrupts.
    pub(super) fn new(job: &'a Job<'a>, memo: Memo, session: &'a Session<'a>) -> Result<Trials<'a>, Stop> {
        let plain = Job {
            algorithms: None,
            ..job.clone()
        };
        let plain = lower(&plain, true, session)?.built;
        Ok(Trials {
            job,
            session,
            plain,
            memo: RefCell::new(memo),
        })
    }

    /// The model with further rules.
    ///
    /// # Errors
    /// If the rules are not possible, a run fails, or the user interrupts.
    pub(super) fn built(&self, rules: &str, algorithms: Option<Algorithms>) -> Result<Built, Stop> {
        let job = Job {
            algorithms,
            ..self.job.clone()
        };
        let built = build_with(&job, parsed(rules)?, &self.plain, self.session)?;
        built.ok_or_else(|| Stop::Defect("a rule for types needs statistics".into()))
    }

    /// Measures a model with further rules. `measure` is called with the model, unless the answer is kept.
    ///
    /// # Errors
    /// Errors of [`Trials::built`] and of `measure`.
    pub(super) fn measured(
        &self,
        (what, rules): (&str, &str),
        algorithms: Option<Algorithms>,
        measure: impl FnOnce(&Built) -> Result<f64, Stop>,
    ) -> Result<f64, Stop> {
        let question = format!("{what} with {algorithms:?}: {rules}");
        let mut memo = self.memo.borrow_mut();
        let answer = memo.ask(question, self.session, || {
            Ok([measure(&self.built(rules, algorithms)?)?])
        });
        answer.map(|[answer]| answer)
    }

    /// Describes the last of several rules, which lead to the loss together.
    ///
    /// # Errors
    /// If the rules are not possible.
    pub(super) fn step(&self, (before, toml): (&str, String), layers: usize, loss: f64) -> Result<PrecisionStep, Stop> {
        let annotated = annotated_with(self.job, parsed(&[before, &toml].concat())?, self.session)?;
        let shares = shares(&annotated);
        Ok(PrecisionStep {
            toml,
            layers,
            loss,
            macs_16: shares.wide,
            macs_float: shares.host,
        })
    }

    /// The first calibration samples on which sensitivities are measured. There are fewer for large models.
    ///
    /// # Errors
    /// If a sample cannot be read.
    pub(super) fn samples(&self, runs: usize) -> Result<Arc<dyn strait_quantize::observe::Samples>, Stop> {
        let adapter = Adapter::alone(&self.job.ready.samples);
        let graph = self.plain.annotated.main();
        let each: u64 = graph
            .nodes()
            .map(|(id, _)| node_operations(&self.plain.annotated, id))
            .fold(0, u64::saturating_add);
        let most = OPERATIONS / each.saturating_mul(runs as u64).max(1);
        let all = adapter.count();
        let count = usize::try_from(most).unwrap_or(SAMPLES).clamp(2, SAMPLES).min(all);
        let read = (0..count).map(|at| {
            let index = at * all / count.max(1);
            let sample = adapter.sample(index);
            sample.map_err(|text| CompileError::Sample { index, text })
        });
        let read: Vec<Vec<Tensor>> = read.collect::<Result<_, _>>()?;
        Ok(Arc::new(InMemory(read)))
    }
}

/// `None` if the rules are not possible in this configuration.
pub(super) fn possible<T>(done: Result<T, Stop>) -> Result<Option<T>, Stop> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Stop::Found(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// A watch that shows nothing, because one phase shows the progress of all runs.
pub(super) struct Quiet<'a>(pub(super) &'a Session<'a>);

impl Watch for Quiet<'_> {
    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// The shares of the multiply-adds of an annotated graph.
pub(super) fn shares(annotated: &Module) -> Shares {
    let graph = annotated.main();
    let (mut all, mut wide, mut host) = (0, 0, 0);
    for (id, node) in graph.nodes() {
        let own = multiply_adds(annotated, id);
        all += own;
        let bits = graph
            .quant
            .scheme_of(id, Port::Operand(0))
            .and_then(strait_core::Scheme::int_type);
        match node.place {
            Placement::Accelerator if bits.is_some_and(|ty| ty.bits() >= WIDE) => wide += own,
            Placement::Accelerator => {}
            _ => host += own,
        }
    }
    let share = |part: u64| part as f64 / all.max(1) as f64;
    Shares {
        wide: share(wide),
        host: share(host),
    }
}

/// The number of nodes on the host.
pub(super) fn hosted(annotated: &Module) -> usize {
    let nodes = annotated.main().nodes();
    nodes.filter(|(_, node)| node.place != Placement::Accelerator).count()
}

/// The noise of whole models, measured with the simulation.
pub(super) struct Overall<'a> {
    noises: Noises<'a>,
    samples: Arc<dyn strait_quantize::observe::Samples>,
}

impl<'a> Overall<'a> {
    /// Runs the float model.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(super) fn new(trials: &'a Trials<'_>) -> Result<Overall<'a>, Stop> {
        let samples = trials.samples(1)?;
        let noises = Noises::new(&trials.plain, &samples, trials.session)?;
        Ok(Overall { noises, samples })
    }

    /// The noise of the model with further rules.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(super) fn noise(&self, (rules, trials): (&str, &Trials<'_>)) -> Result<f64, Stop> {
        let session = trials.session;
        trials.measured(("noise", rules), None, |built| {
            Ok(self.noises.of_model(built, &self.samples, session)?)
        })
    }

    /// The noise of rounding only weights.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(super) fn of_weights(&self, trials: &Trials<'_>) -> Result<f64, Stop> {
        Ok(self.noises.of_all_weights(&Quiet(trials.session))?)
    }
}
