//! Chooses the ranges of activations by the error at the outputs of the model.
//!
//! Each observer answers the question how much of the tails of a distribution should be cut off in its own way, and none is
//! right for every network: where few samples have large numbers, cutting them off makes all other samples more precise.
//! Here, candidates are made by several observers, and the simulated model is run with them on the samples. First, one
//! observer is chosen for all values. Then the ranges of the other observers are tried for single values.
//!
//! If weights have few codes, only activations are rounded in these runs. The codes of weights are chosen later, and with the nearest
//! codes of 4 bits, for example, the outputs can be so far from the float model's that they say nothing about ranges. With 8 bits,
//! weights are rounded, too, because on some targets the range of an activation decides the grid of weights.

use std::collections::BTreeMap;

use strait_core::{Module, Origin, Port, QuantConfig, QuantParams, ValueId};
use strait_execute::cost;
use strait_lower::{Parameters, simulate};
use strait_optimize::{Fidelity, LEAST_SAMPLES, Optimised, is_gain, mean};
use strait_quantize::annotate::{RangeFrom, ValueSettings};
use strait_quantize::observers::ObserverChoice;
use strait_target::spec::{Observer, ObserverOptions};

use crate::{
    CompileError, Quantized, Settings, Task, Watch,
    quantize::quantize_from,
    roles::{Role, rounding_only},
    task::Optimising,
};

/// The largest number of samples on which ranges are compared.
const SAMPLES: usize = 48;

/// The number of multiply-adds, and of other elements that are visited, for the trials of single values.
const OPERATIONS: u64 = 200_000_000_000;

/// The ranges of activations that were chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenRanges {
    /// The observer for all values without one of their own.
    pub observer: Observer,
    /// The observers of single values.
    pub values: BTreeMap<ValueId, Observer>,
    /// The error at the outputs of the model before and after, the mean of [`Fidelity::errors`].
    pub error: [f64; 2],
}

/// The settings with the ranges that were chosen, and the model that is quantized with them.
pub(crate) struct Ranges {
    pub(crate) settings: Settings,
    pub(crate) quantized: Quantized,
    /// `None` if there were too few samples.
    pub(crate) chosen: Option<ChosenRanges>,
}

/// Chooses ranges, starting from a quantized model.
///
/// # Errors
/// Samples cannot be used, a run takes more than its limits allow, or the caller has asked to stop.
pub(crate) fn choose(
    task: &Task<'_>,
    how: &Optimising<'_>,
    plain: Quantized,
    watch: &dyn Watch,
) -> Result<Ranges, CompileError> {
    let fidelity = Fidelity::new(task.float, how.samples, (false, SAMPLES), (task.limits, task.threads))?;
    let settings = task.resolved.settings.clone();
    let mut search = Search {
        task,
        fidelity,
        settings,
        errors: Vec::new(),
        quantized: plain,
        own: BTreeMap::new(),
    };
    let mut chosen = None;
    if search.fidelity.count() >= LEAST_SAMPLES {
        search.errors = search.fidelity.errors(&search.simulated(&search.quantized)?)?;
        let before = mean(&search.errors);
        watch.step("ranges", None, |done| {
            let candidates = search.observers()?;
            search.values(&candidates, done)
        })?;
        chosen = Some(ChosenRanges {
            observer: search.settings.default.observer.observer,
            values: std::mem::take(&mut search.own),
            error: [before, mean(&search.errors)],
        });
    }
    Ok(Ranges {
        settings: search.settings,
        quantized: search.quantized,
        chosen,
    })
}

/// The ends that one observer gives to each value.
type Candidates = Vec<(ObserverChoice, BTreeMap<ValueId, QuantParams>)>;

struct Search<'a> {
    task: &'a Task<'a>,
    fidelity: Fidelity<'a>,
    /// The best settings so far, the errors of the model with them, and this model.
    settings: Settings,
    errors: Vec<f64>,
    quantized: Quantized,
    /// The values with an observer of their own.
    own: BTreeMap<ValueId, Observer>,
}

impl Search<'_> {
    /// Tries each observer for all values, and takes the best one. Returns the grids that the observers lead to.
    fn observers(&mut self) -> Result<Candidates, CompileError> {
        let first = self.settings.default.observer.clone();
        let mut found = vec![(first.clone(), activations(&self.quantized.annotated))];
        for observer in candidates().into_iter().filter(|observer| *observer != first) {
            let mut settings = self.settings.clone();
            settings.default.observer = observer.clone();
            // An observer that cannot make a grid for some type of codes is no candidate.
            if let Some(quantized) = self.attempt(&settings)? {
                found.push((observer, activations(&quantized.annotated)));
                self.judge(settings, quantized)?;
            }
        }
        Ok(found)
    }

    /// Tries the other observers' ranges for each value, as far as the work is bounded. Values whose ranges differ most come
    /// first.
    fn values(
        &mut self,
        candidates: &Candidates,
        done: &mut dyn FnMut(usize) -> std::ops::ControlFlow<()>,
    ) -> Result<(), CompileError> {
        let module = self.simulated(&self.quantized)?;
        let each = cost(&module, module.main)?
            .operations
            .saturating_mul(self.fidelity.count() as u64);
        let mut trials = OPERATIONS / each.max(1);
        let mut values: Vec<(f64, ValueId)> = Vec::new();
        for (&value, own) in &activations(&self.quantized.annotated) {
            let wider = |other: &QuantParams| {
                let [one, other] = [own, other].map(|grid| grid.as_tensor().map_or(1.0, |(scale, _)| f64::from(scale)));
                (one / other).ln().abs()
            };
            let others = candidates.iter().filter_map(|(_, grids)| grids.get(&value));
            values.push((others.map(wider).fold(0.0, f64::max), value));
        }
        values.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        for (at, (_, value)) in values.into_iter().enumerate() {
            let mut tried = vec![activations(&self.quantized.annotated).remove(&value)];
            for (observer, grids) in candidates {
                let grid = grids.get(&value).cloned();
                let is_given = |own: &ValueSettings| own.range.is_some() || own.exact.is_some();
                let given = &self.task.resolved.settings.values;
                if trials == 0 || tried.contains(&grid) || given.get(&value).is_some_and(is_given) {
                    continue;
                }
                let mut settings = self.settings.clone();
                settings.values.entry(value).or_default().range = Some(RangeFrom::Observer(observer.clone()));
                tried.push(grid);
                trials -= 1;
                if let Some(quantized) = self.attempt(&settings)?
                    && self.judge(settings, quantized)?
                {
                    self.own.insert(value, observer.observer);
                }
            }
            if done(at + 1).is_break() {
                return Err(CompileError::Interrupted);
            }
        }
        Ok(())
    }

    /// Quantizes with other settings. Returns `None` if a node that has to run in integers cannot do so with them, or if
    /// more nodes run on the host.
    fn attempt(&self, settings: &Settings) -> Result<Option<Quantized>, CompileError> {
        let mut resolved = self.task.resolved.clone();
        resolved.settings = settings.clone();
        let task = Task {
            resolved: &resolved,
            ..self.task.clone()
        };
        let first = self.quantized.first.as_ref();
        match quantize_from(&task, &Optimised::default(), first) {
            Ok(quantized) => Ok(Some(quantized).filter(|made| hosted(made) <= hosted(&self.quantized))),
            Err(CompileError::Denied(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps settings if the model with them is closer to the float model. Returns whether it is.
    fn judge(&mut self, settings: Settings, quantized: Quantized) -> Result<bool, CompileError> {
        let errors = self.fidelity.errors(&self.simulated(&quantized)?)?;
        let is_better = is_gain(&self.errors, &errors);
        if is_better {
            (self.settings, self.errors, self.quantized) = (settings, errors, quantized);
        }
        Ok(is_better)
    }

    /// The simulation that is judged.
    fn simulated(&self, quantized: &Quantized) -> Result<Module, CompileError> {
        if !quantized.has_few_codes() {
            return quantized.simulated(self.task.target.spec());
        }
        let graph = quantized.annotated.main();
        let is_activation = |config: &QuantConfig| matches!(Role::of(graph, config), Role::Activations | Role::Host);
        let rounded = rounding_only(&quantized.annotated, is_activation)?;
        simulate(&rounded, Some(self.task.target.spec()), Parameters::Reals).map_err(CompileError::defect)
    }
}

/// The observers that are tried for all values.
fn candidates() -> Vec<ObserverChoice> {
    let percentile = |percentile: f64| ObserverChoice {
        observer: Observer::Percentile,
        options: ObserverOptions {
            percentile: Some(percentile),
            ..ObserverOptions::default()
        },
    };
    vec![
        Observer::MinMax.into(),
        percentile(99.99),
        percentile(99.9),
        Observer::Mse.into(),
        Observer::Kl.into(),
    ]
}

/// The number of nodes that run on the host.
fn hosted(quantized: &Quantized) -> usize {
    let nodes = quantized.annotated.main().nodes();
    nodes
        .filter(|(_, node)| node.place != strait_core::Placement::Accelerator)
        .count()
}

/// The grid of each value that has a grid of its own from an observer, as its producer stores it.
fn activations(annotated: &Module) -> BTreeMap<ValueId, QuantParams> {
    let (graph, table) = (annotated.main(), &annotated.main().quant);
    let own = table.iter().filter_map(|(id, config)| {
        let is_made = matches!(config.port, Port::Result(_) | Port::Input(_)) && table.root(id) == id;
        let grid = table
            .grid(id)
            .filter(|grid| is_made && matches!(grid.origin, Origin::Observed | Origin::Coarsened))?;
        Some((graph.value_at(config.node, config.port)?, (*grid.params).clone()))
    });
    own.collect()
}
