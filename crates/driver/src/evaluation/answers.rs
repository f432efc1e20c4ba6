//! Runs a model over samples and takes its largest output for an answer.

use ndarray::ArrayD;
use strait_core::Module;
use strait_execute::{Plan, PlanOptions, SampleError, Tensor, TensorView, Threads, Workspace, cost, map_in_order};
use strait_samples::{Samples, Scratch};

use crate::{
    diagnostic::Diagnostic,
    failure::{self, codes},
    limits::Demand,
    session::Session,
    stop::Stop,
};

/// A graph that is ready to run.
pub struct Side {
    pub(crate) plan: Plan,
    pub(crate) demand: Demand,
}

impl Side {
    /// Plans the main graph of a module, once it is known that a run of it fits.
    ///
    /// # Errors
    /// A graph that cannot be run, or that takes more than it may.
    pub fn new(module: &Module, options: &PlanOptions<'_>, session: &Session<'_>) -> Result<Side, Stop> {
        let demand = Demand::new(cost(module, module.main).map_err(failure::execute)?);
        session.admit(&demand, 1)?;
        let plan = Plan::new(module, module.main, options).map_err(failure::execute)?;
        Ok(Side { plan, demand })
    }
}

/// The model's answer to each sample, as a phase of the session: the position of the largest number of its first
/// output, the first one where several are equal.
///
/// # Errors
/// Samples that cannot be used, a model without classes, a run that fails, and an interruption.
pub fn answers(side: &Side, samples: &Samples, session: &Session<'_>, phase: &str) -> Result<Vec<u32>, Stop> {
    let plan = &side.plan;
    class_count(plan)?;
    let threads = session.admit(&side.demand, samples.count())?;
    let worker = || Ok((Workspace::new(plan, &Threads::one()?), Scratch::default()));
    let work = |(space, scratch): &mut (Workspace, Scratch), index: usize| {
        let sample = samples.sample(index, scratch).map_err(failure::data)?;
        largest(&plan.run(space, &views(&sample)?).map_err(failure::execute)?)
    };
    session.phase(phase, Some(samples.count()), |done| {
        let mut answers = Vec::with_capacity(samples.count());
        let sink = |index: usize, answer| {
            answers.push(answer);
            Ok(done(index + 1))
        };
        match map_in_order(samples.count(), threads, worker, work, sink) {
            Ok(()) => Ok(answers),
            Err(SampleError::Sample { source, .. }) => Err(source),
            Err(SampleError::Worker(error)) => Err(failure::execute(error)),
            Err(SampleError::Stopped { .. }) => Err(Stop::Interrupted),
        }
    })
}

/// A sample as a run takes it.
pub(crate) fn views(sample: &[ArrayD<f32>]) -> Result<Vec<TensorView<'_>>, Stop> {
    let views: Result<_, _> = sample.iter().map(TensorView::of_array).collect();
    views.map_err(|error| Stop::Defect(error.to_string()))
}

/// Number of classes of the model's first output.
///
/// # Errors
/// A model whose first output has fewer than two numbers.
pub fn class_count(plan: &Plan) -> Result<usize, Stop> {
    let output = plan.outputs().next();
    let classes = output.map_or(0, |output| output.shape.iter().product::<usize>());
    if classes >= 2 {
        return Ok(classes);
    }
    let message = format!("top1 and agreement need an output with a number for each class; the first has {classes}");
    Err(Diagnostic::error(codes::EVALUATION, message).into())
}

fn largest(outputs: &[Tensor]) -> Result<u32, Stop> {
    let output = outputs
        .first()
        .ok_or_else(|| Stop::Defect("a model without outputs was run".into()))?;
    let scores = output
        .array::<f32>()
        .map_err(|error| Diagnostic::error(codes::EVALUATION, format!("the first output is not of floats: {error}")))?;
    let best = scores
        .iter()
        .enumerate()
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    Ok(best.map_or(0, |(class, _)| class as u32))
}
