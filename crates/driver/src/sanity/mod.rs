//! The sanity check: every compilation that has samples runs the integer model and the float model on the first few
//! samples.
//!
//! The number of samples depends only on the model and not on the machine. The outputs are compared number by number.
//! If an output has nothing in common with the float model's, the user is warned ([`Fault`](crate::report::Fault)).
//! Then the compiler searches for the layers at which the error jumps (`jumps.rs`), and for a rule that helps
//! (`remedy.rs`). Lints that may not affect any output are tested in the same way (`heard.rs`).

mod heard;
mod jumps;
mod outputs;
mod remedy;
mod simulated;

use std::ops::ControlFlow;

use strait_core::{Bodies, Kind, Module, Node, Op, Value, ValueId};
use strait_evaluate::{ConcatenatedParts, Output};
use strait_execute::{LoopsFor, Tensor, Threads, Workspace, map_in_order};
use strait_samples::{Samples, Scratch};
use strait_target::TargetSpec;

use crate::{
    config::types::Rule,
    diagnostic::Diagnostic,
    evaluation::{Side, demand, views},
    failure::{self, codes},
    limits::Demand,
    report::{Sanity, SanityOutput},
    session::Session,
    stop::Stop,
};

use jumps::Model;
use outputs::{Judged, Reading};

pub(crate) use jumps::ValueError;
pub(crate) use outputs::Squares;
pub(crate) use simulated::{Lift, parsed, rule_text};

/// At most this many samples are run.
pub(crate) const MOST_SAMPLES: usize = 8;

/// If running the float model on all these samples needs more operations than this, fewer samples are run.
const MOST_OPERATIONS: u64 = 10_000_000_000;

/// The number of samples that are run to find the layers at fault. Two are enough: a layer that destroys what an output
/// needs does so on every sample.
const SEARCHED: usize = 2;

/// The warning names at most this many layers.
const NAMED: usize = 3;

/// If the outputs of the float model for all these samples have more bytes than this, fewer samples are run.
const MOST_BYTES: u64 = 256 << 20;

/// The float model's outputs for the first samples, which are used for every target.
pub(crate) struct Reference<'a> {
    samples: &'a Samples,
    of_float: Vec<Output>,
    /// The outputs of the float model, for each sample.
    outputs: Vec<Vec<Tensor>>,
    /// How each output is read when outputs are compared.
    read: Vec<OutputRead>,
}

/// How an output is read: as an answer, and in which parts.
struct OutputRead {
    /// How the output is read as an answer. `None` unless the index of its largest number may be an answer.
    reading: Option<Reading>,
    parts: Option<ConcatenatedParts>,
}

/// The graphs of one target.
pub(crate) struct Subject<'a> {
    /// The float graph, with the bodies of control flow inlined.
    pub(crate) canonical: &'a Module,
    pub(crate) bodies: &'a Bodies,
    /// The float graph with its quantization configs.
    pub(crate) annotated: &'a Module,
    pub(crate) spec: &'a TargetSpec,
    /// The integer graph that is run.
    pub(crate) integer: &'a Module,
    pub(crate) loops: &'a dyn LoopsFor,
    /// Annotates the float graph again, with additional rules.
    pub(crate) with: &'a dyn Fn(Vec<Rule>) -> Result<Module, Stop>,
}

impl<'a> Reference<'a> {
    /// Runs the float model. `float` is the graph of `canonical`, with bodies of control flow as graphs of their own.
    /// `known` are outputs for the first samples from an earlier run. If there are enough of them, nothing is run.
    /// Returns `None` if there are no samples.
    ///
    /// # Errors
    /// If samples cannot be used, a run fails, or the user interrupts.
    pub(crate) fn new(
        float: &Side,
        canonical: &Module,
        samples: &'a Samples,
        known: &[Vec<Tensor>],
        session: &Session<'_>,
    ) -> Result<Option<Reference<'a>>, Stop> {
        let of_float = float.outputs();
        let count = count_of(samples, &float.demand, &of_float);
        if count == 0 {
            return Ok(None);
        }
        let outputs = match known.get(..count) {
            Some(known) => {
                let judged = known.iter().map(|outputs| float.judged(outputs.clone()));
                judged.collect::<Result<_, _>>()?
            }
            None => ran(float, samples, count, session, "sanity (float)")?,
        };
        Ok(Some(Reference::of(canonical, samples, of_float, outputs)))
    }

    /// Like [`Reference::new`], if all outputs are known and none of them has codes. Then the float model, `whole`, is not
    /// even prepared for a run. Returns `None` if it has to be run.
    ///
    /// # Errors
    /// If a run would need more than the limits allow.
    pub(crate) fn of_known(
        whole: &Module,
        canonical: &Module,
        samples: &'a Samples,
        known: &[Vec<Tensor>],
        session: &Session<'_>,
    ) -> Result<Option<Reference<'a>>, Stop> {
        let graph = whole.main();
        let values: Vec<&Value> = (graph.outputs().iter()).filter_map(|&id| graph.value(id)).collect();
        let output = |value: &&Value| Output {
            name: whole.name(value.name).to_owned(),
            elem: value.ty.elem,
            shape: (value.ty.shape.iter())
                .map(|extent| extent.fixed().map_or(0, |extent| extent as usize))
                .collect(),
        };
        let of_float: Vec<Output> = values.iter().map(output).collect();
        let count = count_of(samples, &demand(whole, session)?, &of_float);
        let are_reals = values.iter().all(|value| value.ty.elem.is_float());
        let outputs = known.get(..count).filter(|outputs| are_reals && !outputs.is_empty());
        Ok(outputs.map(|outputs| Reference::of(canonical, samples, of_float, outputs.to_vec())))
    }

    fn of(canonical: &Module, samples: &'a Samples, of_float: Vec<Output>, outputs: Vec<Vec<Tensor>>) -> Reference<'a> {
        let values = canonical.main().outputs().iter().take(of_float.len()).enumerate();
        let read = values.map(|(index, &value)| OutputRead {
            reading: reading(canonical, value),
            parts: ConcatenatedParts::of_output(canonical, index),
        });
        Reference {
            samples,
            read: read.collect(),
            outputs,
            of_float,
        }
    }

    /// Runs the integer model and compares it with the float model. If an output is at fault, also searches for the
    /// layers that cause it.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(crate) fn hold(&self, integer: &Side, subject: &Subject<'_>, session: &Session<'_>) -> Result<Sanity, Stop> {
        let phase = format!("sanity ({})", subject.spec.id);
        let outputs = ran(integer, self.samples, self.outputs.len(), session, &phase)?;
        let mut sanity = Sanity {
            samples: self.outputs.len() as u64,
            outputs: self.judged(&outputs)?,
            ..Sanity::default()
        };
        if sanity.faulty().next().is_some() {
            let integer = Model {
                module: subject.integer,
                loops: subject.loops,
            };
            // Running both models side by side may need more memory than running each by itself.
            let jumps = match integer.jumps(self, &sanity.outputs, subject, session) {
                Ok(jumps) => jumps,
                Err(Stop::Found(_)) => return Ok(sanity),
                Err(stop) => return Err(stop),
            };
            let named = jumps.iter().take(NAMED).filter_map(|jump| jump.told(subject.canonical));
            sanity.layers = named.collect();
            sanity.rule = remedy::remedy(self, &sanity.outputs, subject, &jumps, session)?;
        }
        Ok(sanity)
    }

    /// The number of samples on which the float model was run.
    pub(crate) fn count(&self) -> usize {
        self.outputs.len()
    }

    /// Compares the outputs of another integer model with those of the float model.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(crate) fn compared(
        &self,
        integer: &Side,
        phase: &str,
        session: &Session<'_>,
    ) -> Result<Vec<SanityOutput>, Stop> {
        self.judged(&ran(integer, self.samples, self.outputs.len(), session, phase)?)
    }

    /// The smallest SNR of the outputs of another integer model, in dB.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(crate) fn snr(&self, integer: &Side, phase: &str, session: &Session<'_>) -> Result<Option<f64>, Stop> {
        let outputs = ran(integer, self.samples, self.outputs.len(), session, phase)?;
        let judged = self.judged(&outputs)?;
        Ok(judged.iter().filter_map(|output| output.snr).reduce(f64::min))
    }

    /// Compares the outputs of another model with the outputs of the float model.
    fn judged(&self, outputs: &[Vec<Tensor>]) -> Result<Vec<SanityOutput>, Stop> {
        let mut found = Vec::new();
        for (index, (output, read)) in self.of_float.iter().zip(&self.read).enumerate() {
            let pairs = (self.outputs.iter().zip(outputs))
                .filter_map(|(float, other)| Some((float.get(index)?, other.get(index)?)));
            let pairs: Vec<(&Tensor, &Tensor)> = pairs.collect();
            let judged = Judged::of(&pairs, None, read.reading)?;
            found.push(judged.told(&output.name, None));
            if let Some(parts) = &read.parts {
                for (part, name) in parts.names.iter().enumerate() {
                    let judged = Judged::of(&pairs, Some((parts, part)), None)?;
                    found.push(judged.told(&output.name, Some(name.clone())));
                }
            }
        }
        Ok(found)
    }
}

/// The warning that names the outputs that are at fault.
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

/// How many samples to run of a float model with these outputs.
fn count_of(samples: &Samples, demand: &Demand, outputs: &[Output]) -> usize {
    let bytes = outputs
        .iter()
        .map(|output| (output.count() * output.elem.size()) as u64);
    samples_of(samples.count(), demand.operations(), bytes.sum())
}

/// How many of `count` samples to run, if each needs this many operations and has outputs of this many bytes.
fn samples_of(count: usize, operations: u64, bytes: u64) -> usize {
    let most = (MOST_OPERATIONS / operations.max(1)).min(MOST_BYTES / bytes.max(1));
    count.min(MOST_SAMPLES).min((most as usize).max(1))
}

/// Returns how an output can be read as an answer, or `None` if it cannot. The output must have shape `[1, N]` with N ≥
/// 2, and no node other than a softmax may read it. The output of a softmax may have further dimensions of 1.
fn reading(module: &Module, output: ValueId) -> Option<Reading> {
    let graph = module.main();
    let mut shape = graph.value(output)?.ty.dims()?;
    let mut readers = graph.uses(output).filter_map(|at| graph.node(at.node)).peekable();
    let is_read = readers.peek().is_some();
    if !readers.all(|node| matches!(node.op, Op::Softmax(_))) {
        return None;
    }
    let mut maker = graph.producer(output);
    // A quantized model quantizes the result of its last operator and may move its elements. So nodes that do this are
    // skipped.
    let passes = |node: &Node| matches!(node.op, Op::Quantize(_)) || node.op.term().kind() == Kind::Rearranges;
    while let Some((_, node)) = maker.filter(|(_, node)| passes(node)) {
        maker = node
            .inputs
            .first()
            .copied()
            .flatten()
            .and_then(|value| graph.producer(value));
    }
    let is_made = maker.is_some_and(|(_, node)| matches!(node.op, Op::Softmax(_)));
    if is_read || is_made {
        shape.retain(|&mut extent| extent != 1);
        return (shape.len() == 1).then_some(Reading::Class);
    }
    matches!(shape[..], [1, numbers] if numbers > 1).then_some(Reading::Scores)
}

/// The outputs of a model for the first samples, computed as a phase of the session.
pub(crate) fn ran(
    side: &Side,
    samples: &Samples,
    count: usize,
    session: &Session<'_>,
    phase: &str,
) -> Result<Vec<Vec<Tensor>>, Stop> {
    let threads = session.admit(&side.demand, count)?;
    let worker = || Ok((Workspace::new(&side.plan, &Threads::one()), Scratch::default()));
    let work = |(space, scratch): &mut (Workspace, Scratch), index: usize| {
        let sample = samples.sample(index, scratch).map_err(failure::data)?;
        let ran = side.plan.run(space, &views(&sample)?);
        side.judged(ran.map_err(|error| failure::execute_sample(error, index))?)
    };
    session.phase(phase, Some(count), |done| {
        let mut outputs = Vec::with_capacity(count);
        let sink = |index: usize, ran: Vec<Tensor>| -> Result<ControlFlow<()>, Stop> {
            outputs.push(ran);
            Ok(done(index + 1))
        };
        let ran = map_in_order(count, threads, worker, work, sink);
        ran.map_err(|error| error.or(Stop::Interrupted))?;
        Ok(outputs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_a_softmax_or_nothing_reads() {
        let cases = [
            ("%y: f32[1,3] = relu(%x)", "%y", Some(Reading::Scores)),
            (
                "%y: f32[1,3] = relu(%x) %z: f32[1,3] = softmax(%y) {axis=1}",
                "%y",
                Some(Reading::Class),
            ),
            ("%y: f32[1,3] = softmax(%x) {axis=1}", "%y", Some(Reading::Class)),
            (
                "%z: f32[1,3] = softmax(%x) {axis=1} %y: f32[1,3,1] = reshape(%z) {shape=[1,3,1]}",
                "%y",
                Some(Reading::Class),
            ),
            ("%y: f32[3] = reshape(%x) {shape=[3]}", "%y", None),
            ("%y: f32[1,3] = relu(%x) %z: f32[1,3] = relu(%y)", "%y", None),
        ];
        for (nodes, output, expected) in cases {
            let text = format!("strait 1 float graph @main(%x: f32[1,3]) {{ {nodes} return {output} }}");
            let module = strait_core::text::parse(&text).unwrap();
            assert_eq!(reading(&module, module.main().outputs()[0]), expected, "{nodes}");
        }
    }

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
