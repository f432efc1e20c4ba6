//! Chooses codes and biases from samples, and quantizes again with them.

use strait_core::Port;
use strait_optimize::{Algorithms, Choice, Error, Fidelity, Optimised, Untouched, is_closer, optimise as choose};
use strait_quantize::{ObserveError, observe::Samples};
use strait_target::spec::Observer;

use crate::{
    CompileError, MigratedModel, Quantized, Task, Watch, migrate,
    quantize::quantize_from,
    ranges::{self, ChosenRanges},
    task::Optimising,
};

/// What an optimisation has chosen for a model.
#[derive(Clone, Debug, Default)]
pub struct OptimisedModel {
    /// The ranges of activations. `None` if they were not chosen.
    pub ranges: Option<ChosenRanges>,
    /// The observer of the ranges of weights, if it is another one than the settings'.
    pub weights: Option<Observer>,
    /// The codes and biases.
    pub layers: Optimised,
    /// The scale that was moved between layers. `None` if it was not tried.
    pub migration: Option<MigratedModel>,
}

/// Optimises a quantized model, if the task asks for it. Placing and annotation run again with the parameters that were
/// chosen, so all rules for grids, forms and biases hold for them. If a layer then gets another grid, its parameters are
/// the model's own again, rounded to this grid.
///
/// # Errors
/// Samples cannot be used, a run takes more than its limits allow, or the caller has asked to stop.
pub(crate) fn optimise(
    task: &Task<'_>,
    plain: Quantized,
    watch: &dyn Watch,
) -> Result<(Quantized, Option<OptimisedModel>), CompileError> {
    let Some(how) = task.optimise else {
        return Ok((plain, None));
    };
    if !task.bodies.is_empty() || !plain.own_grids.grids.is_empty() {
        let why = match task.bodies.is_empty() {
            true => "the model has grids of its own, which were made for its own codes",
            false => "the model has loops or branches",
        };
        let nodes = plain.annotated.main().nodes();
        let weighted = nodes.filter(|(id, _)| plain.annotated.main().quant.baked(*id, Port::Operand(1)).is_some());
        let untouched = weighted.map(|(id, _)| (id, Untouched(why.to_owned()))).collect();
        let layers = Optimised {
            untouched,
            ..Optimised::default()
        };
        let chosen = OptimisedModel {
            layers,
            ..OptimisedModel::default()
        };
        return Ok((plain, Some(chosen)));
    }
    if !how.algorithms.smooth && !how.algorithms.equalize {
        return parameters(task, &how, plain, watch);
    }
    let (mut model, mut quantized) = migrate::choose(task, &how, &plain, watch)?;
    if let (Some(on_copy), Some(copy)) = (task.on_copy, &mut model.copy) {
        copy.resolved = on_copy(&copy.float, &copy.balance, &copy.resolved)?;
        let own = watch.step("quantize", None, |_| {
            quantize_from(&copy.task(task), &Optimised::default(), None)
        })?;
        quantized = Some(own);
    }
    let (quantized, mut chosen) = match (&model.copy, quantized) {
        (Some(copy), Some(quantized)) => {
            let (mut made, chosen) = parameters(&copy.task(task), &how, quantized, watch)?;
            // A revision starts from the model itself.
            made.first = plain.first;
            (made, chosen)
        }
        _ => parameters(task, &how, plain, watch)?,
    };
    chosen.get_or_insert_default().migration = Some(model);
    Ok((quantized, chosen))
}

/// Chooses ranges, codes and biases.
fn parameters(
    task: &Task<'_>,
    how: &Optimising<'_>,
    plain: Quantized,
    watch: &dyn Watch,
) -> Result<(Quantized, Option<OptimisedModel>), CompileError> {
    let (mut resolved, mut plain, mut chosen) = (task.resolved.clone(), plain, OptimisedModel::default());
    if how.algorithms.ranges {
        let ranges = ranges::choose(task, how, plain, watch)?;
        (resolved.settings, plain, chosen.ranges) = (ranges.settings, ranges.quantized, ranges.chosen);
    }
    let task = &Task {
        resolved: &resolved,
        ..task.clone()
    };
    if !how.algorithms.correct_bias && !how.algorithms.round {
        return Ok((plain, Some(chosen)));
    }
    let simulated = |quantized: &Quantized| quantized.simulated(task.target.spec());
    let fidelity = Fidelity::new(task.float, how.samples, (true, SAMPLES), (task.limits, task.threads))?;
    let mut errors = fidelity.errors(&simulated(&plain)?)?;
    let mut best: Option<Quantized> = None;
    let is_open = task.resolved.settings.default.weights.observer.is_none();
    for Trial { algorithms, weights } in trials(how.algorithms, is_open && plain.has_few_codes()) {
        // Rounding without fitting is only a way out if fitted weights are no gain.
        if algorithms.round && !algorithms.repair && chosen.layers.has(Choice::Repair) {
            continue;
        }
        let mut resolved = task.resolved.clone();
        if let Some(observer) = weights {
            resolved.settings.default.weights.observer = Some(observer.into());
        }
        let task = Task {
            resolved: &resolved,
            ..task.clone()
        };
        let narrower = weights.map(|_| quantize_from(&task, &Optimised::default(), None));
        let narrower = match narrower.transpose() {
            // A layer that has to run in integers cannot do so with these ranges.
            Err(CompileError::Denied(_)) => continue,
            narrower => narrower?,
        };
        let (quantized, mut layers) = attempt(
            &task,
            (narrower.as_ref().unwrap_or(&plain), algorithms),
            how.samples,
            watch,
        )?;
        let found = fidelity.errors(&simulated(&quantized)?)?;
        if is_closer(&errors, &found) {
            (errors, best, chosen.layers, chosen.weights) = (found, Some(quantized), layers, weights);
        } else if best.is_none() {
            layers.reject_all("what was chosen for it brings the outputs of the model no closer to the float model's");
            chosen.layers = layers;
        }
    }
    let first = plain.first.take();
    let mut quantized = best.unwrap_or(plain);
    // A revision starts from the model without chosen parameters.
    quantized.first = first;
    Ok((quantized, Some(chosen)))
}

/// The largest number of samples on which whole models are compared.
const SAMPLES: usize = 64;

/// One way to choose parameters.
struct Trial {
    algorithms: Algorithms,
    /// The observer of the ranges of weights, if it is another one than the settings'.
    weights: Option<Observer>,
}

/// What is tried, one after the other. Each trial has to bring the outputs of the model closer to those of the float model
/// than the best one before. With few codes, the largest weights may be cut off, so that all others are more precise.
fn trials(all: Algorithms, few_codes: bool) -> Vec<Trial> {
    let bias = Algorithms {
        round: false,
        repair: false,
        ..all
    };
    let unfitted = Algorithms { repair: false, ..all };
    let mut trials = vec![bias, all, unfitted];
    trials.retain(|trial| trial.correct_bias || trial.round);
    trials.dedup();
    let mut trials: Vec<Trial> = trials
        .into_iter()
        .map(|algorithms| Trial {
            algorithms,
            weights: None,
        })
        .collect();
    if few_codes && all.round {
        let weights = Some(Observer::Mse);
        trials.push(Trial {
            algorithms: all,
            weights,
        });
    }
    trials
}

/// Chooses parameters with some of the algorithms, and quantizes again with them.
fn attempt(
    task: &Task<'_>,
    (plain, algorithms): (&Quantized, Algorithms),
    samples: &dyn Samples,
    watch: &dyn Watch,
) -> Result<(Quantized, Optimised), CompileError> {
    let work = strait_optimize::Task {
        float: task.float,
        annotated: &plain.annotated,
        spec: task.target.spec(),
        samples,
        algorithms,
        limits: task.limits,
        threads: task.threads,
    };
    let layers = strait_optimize::layers(task.float, &plain.annotated);
    let mut optimised = watch.step("optimise", Some(layers), |done| {
        choose(&work, done).map_err(CompileError::from)
    })?;
    let quantized = watch.step("quantize", None, |_| quantize_from(task, &optimised, None))?;
    let table = &quantized.annotated.main().quant;
    let has_moved = |(id, grid)| (table.params_of(id, Port::Operand(1)).as_ref() != Some(grid)).then_some(id);
    let grids = optimised.layers.iter().map(|(id, outcome)| (*id, &outcome.grid));
    for id in grids.filter_map(has_moved).collect::<Vec<_>>() {
        let why = "its weights got another grid when it was quantized again";
        optimised.reject(id, why);
    }
    Ok((quantized, optimised))
}

impl From<Error> for CompileError {
    fn from(error: Error) -> CompileError {
        match error {
            Error::Sample { index, text } => CompileError::Observe(ObserveError::Data { index, text }),
            Error::Excess(excess) => CompileError::Excess(excess),
            Error::Execute(error) => CompileError::Execute(error),
            Error::Stopped => CompileError::Interrupted,
            Error::File(error) => CompileError::File(error.to_string()),
            Error::Defect(text) => CompileError::Defect(text),
        }
    }
}
