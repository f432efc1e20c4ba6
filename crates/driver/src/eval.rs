//! Measures an artifact, beside its float model and its simulation where these are given.

use std::path::Path;

use strait_core::Module;
use strait_execute::PlanOptions;
use strait_samples::{Samples, read_labels};
use strait_target::Registry;

use crate::{
    artifact::Opened,
    config::Loaded,
    diagnostic::Diagnostic,
    evaluation::{Accuracy, Asked, Side, Simulated, answers, asked, doubts},
    failure::{self, codes},
    pipeline,
    session::Session,
    stop::Stop,
};

/// The float model that an artifact is held against.
#[derive(Clone, Copy, Debug)]
pub struct FloatSide<'a> {
    /// The model's file.
    pub file: &'a Path,
    /// Take it even if the artifact was made from another one.
    pub any: bool,
}

/// The configuration that an artifact was made with, and the targets that it may use.
pub struct SimulatedSide {
    /// The configuration.
    pub loaded: Loaded,
    /// The targets.
    pub registry: Registry,
}

/// Top-1 where there are labels, agreement where there is a float model or a configuration to simulate.
///
/// The float model is read as the one that was compiled: with the same sizes, cut at the same places.
///
/// # Errors
/// Samples or labels that do not fit, a float model or a configuration that the artifact was not made from, or a model with
/// other inputs or classes, a run that fails, an interruption.
pub fn eval(
    opened: &Opened,
    data: &Path,
    labels: Option<&Path>,
    float: Option<FloatSide<'_>>,
    simulated: Option<SimulatedSide>,
    session: &Session<'_>,
) -> Result<Accuracy, Stop> {
    let inputs = opened.inputs()?;
    let samples = Samples::open(data, &inputs, None).map_err(failure::data)?;
    let labels = labels.map(|labels| read_labels(labels, samples.count(), samples.stored()));
    let labels = labels.transpose().map_err(failure::data)?;
    let integer = opened.plan(session, true)?;
    let wanted = asked(&integer.plan)?;
    if let Some(labels) = &labels {
        check_labels(labels, wanted)?;
    }
    let float = float.map(|float| {
        let file = float.file;
        let mut module = session.phase("read", None, |_| float_module(opened, float))?;
        let main = module.main;
        let bodies = module.lay_open(main);
        let (canonical, _) = session.phase("canonicalise", None, |_| pipeline::canonical(module))?;
        let same = pipeline::inputs::inputs(&canonical, &bodies)
            .iter()
            .map(|input| (&input.name, input.elem, &input.shape))
            .eq(inputs.iter().map(|input| (&input.name, input.elem, &input.shape)));
        let options = PlanOptions {
            context: session.context,
            ..PlanOptions::default()
        };
        let side = Side::new(&*pipeline::whole_of(&bodies, &canonical)?, &options, session)?;
        if !same || asked(&side.plan)? != wanted {
            let message = format!("{} has other inputs or outputs than the artifact", file.display());
            return Err(Diagnostic::error(codes::EVALUATION, message).into());
        }
        answers(&side, &samples, session, "evaluate (float)")
    });
    let float = float.transpose()?;
    let simulated = simulated.map(|SimulatedSide { loaded, registry }| {
        let module = pipeline::simulated(&loaded, registry, opened, session)?;
        let options = PlanOptions {
            context: session.context,
            ..PlanOptions::default()
        };
        let side = Side::new(&module, &options, session)?;
        answers(&side, &samples, session, "evaluate (simulated)")
    });
    let simulated = simulated.transpose()?;
    let integer = answers(&integer, &samples, session, "evaluate (integer)")?;
    let mut accuracy = Accuracy::new(&integer, float.as_deref(), labels.as_deref());
    accuracy.simulated = simulated.map(|simulated| Simulated::new(&integer, &simulated, labels.as_deref()));
    if let Some(share) = accuracy.top1.as_ref().and_then(|top1| top1.float) {
        doubts(share, wanted.classes(), None)
            .0
            .iter()
            .for_each(|doubt| session.remark(doubt));
    }
    Ok(accuracy)
}

/// The float model, read as the one that was compiled.
fn float_module(opened: &Opened, float: FloatSide<'_>) -> Result<Module, Stop> {
    let read = opened.deployment.reading.read(float.file)?;
    let expected = opened.artifact.manifest().sources.model;
    if float.any || read.digest == expected {
        return Ok(read.module);
    }
    let message = format!("the artifact was not made from {}", float.file.display());
    let finding = Diagnostic::error(codes::EVALUATION, message).note(format!(
        "the digest of this model is {}, that of the artifact's model is {expected}",
        read.digest
    ));
    Err(finding.help("`--any-model` compares with it all the same").into())
}

/// Every label is one of the model's classes, as far as these are known.
pub(crate) fn check_labels(labels: &[u32], asked: Asked) -> Result<(), Stop> {
    let classes = match asked {
        Asked::Scores(classes) => classes,
        Asked::Class => return Ok(()),
        Asked::Numbers(count) => {
            let message = format!("a label is one class, and the first output holds {count} integers or truth values");
            let finding = Diagnostic::error(codes::EVALUATION, message);
            return Err(finding.help("leave the labels out: what agrees can be measured").into());
        }
    };
    match labels.iter().position(|&label| label as usize >= classes) {
        None => Ok(()),
        Some(sample) => {
            let message = format!(
                "label {sample} is {}, and the model has {classes} classes",
                labels[sample]
            );
            Err(Diagnostic::error(codes::EVALUATION, message)
                .help("classes count from 0")
                .into())
        }
    }
}
