//! Chooses codes and biases from samples, and quantizes again with them.

use strait_core::Port;
use strait_optimize::{Error, Optimised, Untouched, optimise as choose};
use strait_quantize::ObserveError;

use crate::{
    CompileError, Quantized, Task, Watch,
    quantize::quantize_from,
    ranges::{self, ChosenRanges},
};

/// What an optimisation has chosen for a model.
#[derive(Clone, Debug, Default)]
pub struct OptimisedModel {
    /// The ranges of activations. `None` if they were not chosen.
    pub ranges: Option<ChosenRanges>,
    /// The codes and biases.
    pub layers: Optimised,
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
        return Ok((plain, Some(OptimisedModel { ranges: None, layers })));
    }
    let (mut resolved, mut plain, mut chosen) = (task.resolved.clone(), plain, OptimisedModel::default());
    if how.algorithms.ranges {
        let ranges = ranges::choose(task, &how, plain, watch)?;
        (resolved.settings, plain, chosen.ranges) = (ranges.settings, ranges.quantized, ranges.chosen);
    }
    let task = &Task {
        resolved: &resolved,
        ..task.clone()
    };
    if !how.algorithms.correct_bias && !how.algorithms.round {
        return Ok((plain, Some(chosen)));
    }
    let work = strait_optimize::Task {
        float: task.float,
        annotated: &plain.annotated,
        spec: task.target.spec(),
        samples: how.samples,
        algorithms: how.algorithms,
        limits: task.limits,
        threads: task.threads,
    };
    let layers = strait_optimize::layers(task.float, &plain.annotated);
    let mut optimised = watch.step("optimise", Some(layers), |done| {
        choose(&work, done).map_err(CompileError::from)
    })?;
    let mut quantized = watch.step("quantize", None, |_| quantize_from(task, &optimised, None))?;
    // A revision starts from the model without chosen parameters.
    quantized.first = plain.first;
    let table = &quantized.annotated.main().quant;
    let has_moved = |(id, grid)| (table.params_of(id, Port::Operand(1)).as_ref() != Some(grid)).then_some(id);
    let grids = optimised.layers.iter().map(|(id, outcome)| (*id, &outcome.grid));
    for id in grids.filter_map(has_moved).collect::<Vec<_>>() {
        optimised.layers.remove(&id);
        let why = "its weights got another grid when it was quantized again".to_owned();
        optimised.untouched.insert(id, Untouched(why));
    }
    chosen.layers = optimised;
    Ok((quantized, Some(chosen)))
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
