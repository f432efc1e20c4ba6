//! Runs models over samples and takes their largest output for an answer.

use std::ops::ControlFlow;

use strait_execute::{Plan, SampleError, Tensor, TensorView, Threads, Workspace, map_in_order};

use crate::{
    data::{Samples, Scratch},
    diagnostic::Diagnostic,
    failure::{self, codes},
    session::Session,
    stop::Stop,
};

use super::tally::{Accuracy, Answer, Tally};

/// Compares the models on all samples, as a phase of the session. A model's answer is the position of the largest number
/// of its first output, the first one where several are equal.
///
/// # Errors
/// Samples that cannot be used, labels that are no class of the models, a run that fails, and an interruption.
pub fn evaluate(
    float: Option<&Plan>,
    integer: &Plan,
    samples: &Samples,
    labels: Option<&[u32]>,
    session: &Session<'_>,
    phase: &str,
) -> Result<Accuracy, Stop> {
    let classes = classes(integer)?;
    if let Some(float) = float.map(self::classes).transpose()?.filter(|&float| float != classes) {
        let message = format!("the float model has {float} classes, and the integer model {classes}");
        return Err(Diagnostic::error(codes::EVALUATION, message).into());
    }
    if let Some(sample) = labels.and_then(|labels| labels.iter().position(|&label| label as usize >= classes)) {
        let message = format!("label {sample} is not one of the {classes} classes of the model");
        return Err(Diagnostic::error(codes::EVALUATION, message)
            .help("classes count from 0")
            .into());
    }
    let worker = || {
        let threads = Threads::one()?;
        Ok((
            float.map(|plan| Workspace::new(plan, &threads)),
            Workspace::new(integer, &threads),
            Scratch::default(),
        ))
    };
    let work = |(float_space, integer_space, scratch): &mut (Option<Workspace>, Workspace, Scratch), index: usize| {
        let tensors = samples.tensors(index, scratch)?;
        let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
        let answer = |plan: &Plan, space: &mut Workspace| -> Result<u32, Stop> {
            let outputs = plan.run(space, &views).map_err(failure::execute)?;
            largest(&outputs)
        };
        Ok::<_, Stop>(Answer {
            float: match (float, float_space) {
                (Some(plan), Some(space)) => Some(answer(plan, space)?),
                _ => None,
            },
            integer: answer(integer, integer_space)?,
            label: labels.and_then(|labels| labels.get(index).copied()),
        })
    };
    session.phase(phase, Some(samples.count()), |done| {
        let mut tally = Tally::default();
        let sink = |index: usize, answer| {
            tally.add(answer);
            Ok::<ControlFlow<()>, Stop>(done(index + 1))
        };
        match map_in_order(samples.count(), session.threads, worker, work, sink) {
            Ok(()) => Ok(tally.accuracy()),
            Err(SampleError::Sample { source, .. }) => Err(source),
            Err(SampleError::Worker(error)) => Err(failure::execute(error)),
            Err(SampleError::Stopped { .. }) => Err(Stop::Interrupted),
        }
    })
}

/// How many classes the first output tells apart.
fn classes(plan: &Plan) -> Result<usize, Stop> {
    let output = plan.outputs().next();
    let classes = output.map_or(0, |output| output.shape.iter().product());
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
    let values = output
        .values::<f32>()
        .map_err(|error| Diagnostic::error(codes::EVALUATION, format!("the first output is not of floats: {error}")))?;
    let best = values
        .iter()
        .enumerate()
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    Ok(best.map_or(0, |(class, _)| class as u32))
}
