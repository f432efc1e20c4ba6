//! Simulates the integer model with additional rules: the graph is annotated with these rules and runs in float with
//! rounding.

use std::fmt::Display;

use serde::Deserialize;
use strait_core::{Module, NodeId, Placement};
use strait_execute::Tensor;
use strait_lower::{Parameters, simulate};
use strait_requantize::IntType;
use strait_target::{TargetSpec, spec::Integer};

use crate::{
    config::types::{Quantize, Rule},
    evaluation::{Side, whole_of},
    report::SanityOutput,
    session::Session,
    stop::Stop,
};

use super::{Reference, Subject, ran};

/// Width of activations for layers that lose too much with 8 bits.
const WIDE: u8 = 16;

/// How a rule can help layers that lose too much accuracy.
#[derive(Clone, Copy)]
pub(crate) enum Lift {
    /// The layers compute with activations of this type.
    Wide(Integer),
    Float,
}

impl Lift {
    /// The kinds of rules that the target supports. Those that keep the layers on the accelerator come first.
    pub(crate) fn of(spec: &TargetSpec) -> Vec<Lift> {
        let codes = spec.types.pairs.iter().filter_map(|pair| pair.codes());
        let wide = codes.filter(|&codes| IntType::from(codes).bits() == WIDE).take(1);
        wide.map(Lift::Wide).chain([Lift::Float]).collect()
    }

    /// True if the rule can be applied to a node.
    pub(crate) fn fits(self, annotated: &Module, spec: &TargetSpec, id: NodeId) -> bool {
        let node = annotated.main().node(id);
        let node = node.filter(|node| node.place == Placement::Accelerator);
        node.is_some_and(|node| match self {
            Lift::Wide(wide) => {
                let mut pairs = spec.pairs_of(node.op.term());
                pairs.any(|pair| pair.codes() == Some(wide))
            }
            Lift::Float => true,
        })
    }

    /// The text of the rule for these layers, as it would be written in a configuration.
    pub(crate) fn rule(self, spec: &TargetSpec, layers: &[String]) -> String {
        let words = match self {
            Lift::Wide(wide) => wide_activations(wide),
            Lift::Float => "run = \"float\"".to_owned(),
        };
        rule_text(spec.id.as_str(), "layers", layers, &words)
    }

    /// Returns the text of a second rule, for a tensor that the layers read. Returns `None` if no second rule is
    /// needed, because the layers read the tensor as real numbers anyway.
    pub(crate) fn of_tensor(self, spec: &TargetSpec, tensor: &str) -> Option<String> {
        match self {
            Lift::Wide(wide) => {
                let words = wide_activations(wide);
                Some(rule_text(spec.id.as_str(), "tensors", &[tensor.to_owned()], &words))
            }
            Lift::Float => None,
        }
    }
}

fn wide_activations(wide: Integer) -> String {
    format!("activations.type = \"{wide}\"")
}

/// The text of a rule for a target, as it would be written in a configuration. `key` says what the names are.
pub(crate) fn rule_text(target: &str, key: &str, names: &[String], words: &str) -> String {
    let target = toml::Value::from(target);
    let names: toml::value::Array = names.iter().map(|name| name.as_str().into()).collect();
    let names = toml::Value::Array(names);
    format!("[[quantize.rule]]\ntarget = [{target}]\n{key} = {names}\n{words}\n")
}

/// The part of a configuration that has the rules.
#[derive(Default, Deserialize)]
struct Document {
    #[serde(default)]
    quantize: Quantize,
}

/// The rules in this text.
///
/// # Errors
/// The text is not valid, which is a defect, because this crate has made it.
pub(crate) fn parsed(rules: &str) -> Result<Vec<Rule>, Stop> {
    let document = toml::from_str::<Document>(rules);
    Ok(document.map_err(|error| Stop::Defect(error.to_string()))?.quantize.rule)
}

/// A simulation, and how its outputs compare with the float model's.
pub(super) struct Simulated {
    pub(super) module: Module,
    /// The outputs of the simulation, for each sample.
    pub(super) runs: Vec<Vec<Tensor>>,
    pub(super) outputs: Vec<SanityOutput>,
}

impl Simulated {
    /// Runs the simulation with the rules `rules` on the first samples of the reference. Returns `None` if the rules
    /// are not valid in this configuration, or if the simulation needs more memory or operations than allowed.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(super) fn with(
        rules: &[String],
        reference: &Reference<'_>,
        samples: usize,
        subject: &Subject<'_>,
        session: &Session<'_>,
    ) -> Result<Option<Simulated>, Stop> {
        let defect = |error: &dyn Display| Stop::Defect(error.to_string());
        let annotated = match (subject.with)(parsed(&rules.concat())?) {
            Ok(annotated) => annotated,
            Err(Stop::Found(_)) => return Ok(None),
            Err(stop) => return Err(stop),
        };
        let simulated = simulate(&annotated, Some(subject.spec), Parameters::Reals);
        let simulated = simulated.map_err(|error| defect(&error))?;
        let module = whole_of(subject.bodies, &simulated)?.into_owned();
        // A simulation needs more memory than the model. If it needs more than is allowed, its result is unknown.
        let side = match Side::new(&module, &session.means().options, session) {
            Ok(side) => side,
            Err(Stop::Found(_)) => return Ok(None),
            Err(stop) => return Err(stop),
        };
        let phase = format!("simulate ({})", subject.spec.id);
        let runs = ran(&side, reference.samples, samples, session, &phase)?;
        Ok(Some(Simulated {
            outputs: reference.judged(&runs)?,
            runs,
            module,
        }))
    }
}
