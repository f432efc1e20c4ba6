//! Runs a model over samples and takes its first output for an answer.

use std::borrow::Cow;

use strait_core::{Module, TensorError};
use strait_execute::{Plan, PlanOptions, SampleError, Tensor, TensorView, Threads, Workspace, cost, map_in_order};
use strait_samples::{Sample, Samples, Scratch};

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

/// The question that the first output of a model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A float for each of so many classes: the largest one is asked for.
    Scores(usize),
    /// One integer or truth value: it is the class.
    Class,
    /// So many integers or truth values, or none, which are the same in two models or not.
    Numbers(usize),
}

impl Asked {
    /// Number of classes, where it is known.
    pub fn classes(self) -> Option<usize> {
        match self {
            Asked::Scores(classes) => Some(classes),
            Asked::Class | Asked::Numbers(_) => None,
        }
    }
}

/// A model's answer to one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A class.
    Class(i64),
    /// The digest of several numbers.
    Numbers([u8; 32]),
}

impl PartialEq<u32> for Answer {
    fn eq(&self, label: &u32) -> bool {
        *self == Answer::Class(i64::from(*label))
    }
}

/// The model's answer to each sample, as a phase of the session: of floats the position of the largest, the first one where
/// several are equal; otherwise what the first output holds.
///
/// # Errors
/// Samples that cannot be used, a model without classes, a run that fails, and an interruption.
pub fn answers(side: &Side, samples: &Samples, session: &Session<'_>, phase: &str) -> Result<Vec<Answer>, Stop> {
    let plan = &side.plan;
    let asked = asked(plan)?;
    let threads = session.admit(&side.demand, samples.count())?;
    let worker = || Ok((Workspace::new(plan, &Threads::one()?), Scratch::default()));
    let work = |(space, scratch): &mut (Workspace, Scratch), index: usize| {
        let sample = samples.sample(index, scratch).map_err(failure::data)?;
        let ran = plan.run(space, &views(&sample)?);
        answer(asked, &ran.map_err(|error| failure::execute_sample(error, index))?)
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
pub(crate) fn views(sample: &[Sample]) -> Result<Vec<TensorView<'_>>, Stop> {
    let views: Result<_, _> = (sample.iter())
        .map(|one| TensorView::new(one.elem(), one.shape(), one.bytes()))
        .collect();
    views.map_err(|error| Stop::Defect(error.to_string()))
}

/// The question that a model's first output answers.
///
/// # Errors
/// A model without outputs, or whose first output has fewer than two floats.
pub fn asked(plan: &Plan) -> Result<Asked, Stop> {
    let output = plan.outputs().next();
    let count = output.map_or(0, |output| output.shape.iter().product::<usize>());
    match output {
        Some(output) if !output.elem.is_float() => Ok(if count == 1 {
            Asked::Class
        } else {
            Asked::Numbers(count)
        }),
        Some(_) if count >= 2 => Ok(Asked::Scores(count)),
        _ => {
            let message =
                format!("top1 and agreement need an output with a number for each class; the first has {count}");
            Err(Diagnostic::error(codes::EVALUATION, message).into())
        }
    }
}

fn answer(asked: Asked, outputs: &[Tensor]) -> Result<Answer, Stop> {
    let output = outputs
        .first()
        .ok_or_else(|| Stop::Defect("a model without outputs was run".into()))?;
    let data = |error: TensorError| Stop::Defect(error.to_string());
    match asked {
        Asked::Scores(_) => {
            let scores = output
                .to_data()
                .and_then(|output| output.to_f32().map(Cow::into_owned))
                .map_err(data)?;
            let scores = scores.iter().enumerate();
            let best = scores.reduce(|best, next| if next.1 > best.1 { next } else { best });
            Ok(Answer::Class(best.map_or(0, |(class, _)| class as i64)))
        }
        Asked::Class => {
            let numbers = output.to_data().and_then(|output| output.to_i64()).map_err(data)?;
            Ok(Answer::Class(numbers.first().copied().unwrap_or_default()))
        }
        Asked::Numbers(_) => Ok(Answer::Numbers(blake3::hash(output.view().bytes()).into())),
    }
}
