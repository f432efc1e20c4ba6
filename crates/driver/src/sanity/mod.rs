//! Signs of life: every compilation that has samples runs the integer model beside the float model on the first of them.
//!
//! The number of samples depends on the model alone, not on the machine. Outputs are compared number by number; what has no
//! trace of the float model is warned of ([`Fault`](crate::report::Fault)), and then the layers are searched at which the error jumps.

mod outputs;
mod parts;
mod search;

use std::ops::ControlFlow;

use strait_core::{Module, Op};
use strait_execute::{SampleError, Tensor, Threads, Workspace, map_in_order};
use strait_samples::{Samples, Scratch};

use crate::{
    diagnostic::Diagnostic,
    evaluation::{Output, Side, views},
    failure::{self, codes},
    report::{Sanity, SanityOutput},
    session::Session,
    stop::Stop,
};

use outputs::Judged;
use parts::{Part, parts};
pub(crate) use search::Subject;

/// The most samples that are run.
const MOST_SAMPLES: usize = 8;

/// Operations of the float model's runs together, above which fewer samples are run.
const MOST_OPERATIONS: u64 = 10_000_000_000;

/// Bytes of the float model's outputs together, above which fewer samples are run.
const MOST_BYTES: u64 = 256 << 20;

/// The float model's outputs for the first samples. They serve every target.
pub(crate) struct Reference<'a> {
    samples: &'a Samples,
    of_float: Vec<Output>,
    /// By sample.
    outputs: Vec<Vec<Tensor>>,
    /// Of each output.
    asked: Vec<Asked>,
}

/// Properties of an output.
struct Asked {
    /// True if it is an answer: the position of the largest of its numbers.
    answers: bool,
    parts: Vec<Part>,
}

impl<'a> Reference<'a> {
    /// Runs the float model, whose main graph is that of `canonical` with bodies of control flow where they belong. `None`
    /// without samples.
    ///
    /// # Errors
    /// Samples that cannot be used, a run that fails, an interruption.
    pub(crate) fn new(
        float: &Side,
        canonical: &Module,
        samples: &'a Samples,
        session: &Session<'_>,
    ) -> Result<Option<Reference<'a>>, Stop> {
        let of_float = float.outputs();
        let bytes = of_float
            .iter()
            .map(|output| (output.count() * output.elem.size()) as u64);
        let count = samples_of(samples.count(), float.demand.operations(), bytes.sum());
        if count == 0 {
            return Ok(None);
        }
        let graph = canonical.main();
        let asked = graph.outputs().iter().take(of_float.len()).map(|&value| Asked {
            answers: is_answer(canonical, value),
            parts: parts(canonical, value),
        });
        Ok(Some(Reference {
            samples,
            asked: asked.collect(),
            outputs: ran(float, samples, count, session, "sanity (float)")?,
            of_float,
        }))
    }

    /// Runs the integer model, and holds it against the float model. Where an output is at fault the layers are searched.
    ///
    /// # Errors
    /// A run that fails, an interruption.
    pub(crate) fn hold(&self, integer: &Side, subject: &Subject<'_>, session: &Session<'_>) -> Result<Sanity, Stop> {
        let phase = format!("sanity ({})", subject.spec.id);
        let outputs = ran(integer, self.samples, self.outputs.len(), session, &phase)?;
        let mut sanity = Sanity {
            samples: self.outputs.len() as u64,
            outputs: self.judged(&outputs)?,
            ..Sanity::default()
        };
        if sanity.faulty().next().is_some() {
            (sanity.layers, sanity.rule) = search::searched(self, &sanity.outputs, subject, session)?;
        }
        Ok(sanity)
    }

    /// The outputs of another model beside those of the float model.
    fn judged(&self, outputs: &[Vec<Tensor>]) -> Result<Vec<SanityOutput>, Stop> {
        let mut found = Vec::new();
        for (index, (output, asked)) in self.of_float.iter().zip(&self.asked).enumerate() {
            let pairs = (self.outputs.iter().zip(outputs))
                .filter_map(|(float, other)| Some((float.get(index)?, other.get(index)?)));
            let pairs: Vec<(&Tensor, &Tensor)> = pairs.collect();
            let judged = Judged::of(&pairs, None, asked.answers)?;
            found.push(judged.told(&output.name, None));
            for part in &asked.parts {
                let judged = Judged::of(&pairs, Some(part), false)?;
                found.push(judged.told(&output.name, Some(part.name.clone())));
            }
        }
        Ok(found)
    }
}

/// The warning of outputs that are at fault.
pub(crate) fn warning(sanity: &Sanity) -> Option<Diagnostic> {
    let outputs: Vec<String> = sanity.faulty().map(ToString::to_string).collect();
    if outputs.is_empty() {
        return None;
    }
    let layers: Vec<&str> = sanity.layers.iter().map(|jump| jump.layer.as_str()).collect();
    let layers = match layers.as_slice() {
        [] => String::new(),
        layers => format!("; the error jumps at `{}`", layers.join("`, `")),
    };
    let message = format!(
        "little of the float model is left on the first {}: {}{layers}",
        crate::table::count(sanity.samples as usize, "calibration sample"),
        outputs.join("; ")
    );
    let finding = Diagnostic::warning(codes::SANITY, message);
    Some(match &sanity.rule {
        Some(rule) => finding.help(format!("{rule}\n{}", rule.toml.trim_end())),
        None => finding.help("docs/losses.md says how the layer is found"),
    })
}

/// The number of samples to run, of so many, each of which takes so many operations and has outputs of so many bytes.
fn samples_of(count: usize, operations: u64, bytes: u64) -> usize {
    let most = (MOST_OPERATIONS / operations.max(1)).min(MOST_BYTES / bytes.max(1));
    count.min(MOST_SAMPLES).min((most as usize).max(1))
}

/// True for an output `[1, N]`, N ≥ 2, that nothing reads but a softmax.
fn is_answer(module: &Module, output: strait_core::ValueId) -> bool {
    let graph = module.main();
    let shape = graph.value(output).and_then(|value| value.ty.dims());
    let is_row = matches!(shape.as_deref(), Some([1, classes]) if *classes > 1);
    let mut readers = graph.uses(output).filter_map(|at| graph.node(at.node));
    is_row && readers.all(|node| matches!(node.op, Op::Softmax(_)))
}

/// The outputs of a model for the first samples, as a phase of the session.
fn ran(
    side: &Side,
    samples: &Samples,
    count: usize,
    session: &Session<'_>,
    phase: &str,
) -> Result<Vec<Vec<Tensor>>, Stop> {
    let threads = session.admit(&side.demand, count)?;
    let worker = || Ok((Workspace::new(&side.plan, &Threads::one()?), Scratch::default()));
    let work = |(space, scratch): &mut (Workspace, Scratch), index: usize| {
        let sample = samples.sample(index, scratch).map_err(failure::data)?;
        let ran = side.plan.run(space, &views(&sample)?);
        ran.map_err(|error| failure::execute_sample(error, index))
    };
    session.phase(phase, Some(count), |done| {
        let mut outputs = Vec::with_capacity(count);
        let sink = |index: usize, ran: Vec<Tensor>| -> Result<ControlFlow<()>, Stop> {
            outputs.push(ran);
            Ok(done(index + 1))
        };
        match map_in_order(count, threads, worker, work, sink) {
            Ok(()) => Ok(outputs),
            Err(SampleError::Sample { source, .. }) => Err(source),
            Err(SampleError::Worker(error)) => Err(failure::execute(error)),
            Err(SampleError::Stopped { .. }) => Err(Stop::Interrupted),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_samples_are_run_of_a_model_with_much_work() {
        for (count, operations, bytes, expected) in [
            (0, 1, 1, 0),
            (3, 1, 1, 3),
            (100, 0, 0, 8),
            (100, 300_000_000, 4_000, 8),
            (100, 4_100_000_000, 4_000, 2),
            (100, 1_000_000_000_000, 4_000, 1),
            (100, 1, 100 << 20, 2),
            (100, u64::MAX, u64::MAX, 1),
        ] {
            assert_eq!(samples_of(count, operations, bytes), expected, "{operations}, {bytes}");
        }
    }
}
