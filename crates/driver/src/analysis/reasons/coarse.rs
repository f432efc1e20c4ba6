//! Codes that are too coarse for what the layer computes: its weights or its activations alone do most of the harm. This
//! rule measures, so it also finds a reason if the statistics show nothing unusual.

use strait_core::{Port, Scheme};
use strait_requantize::IntType;
use strait_target::spec::Integer;

use crate::report::{LossCode, LossReason};

use super::{Facts, reason};

/// A layer whose outputs have a larger SNR than this, in dB, needs no reason.
const ENOUGH: f64 = 40.0;

/// By how many decibels the one has to be worse than the other.
const APART: f64 = 3.0;

pub(super) fn find(facts: &Facts<'_>) -> Vec<LossReason> {
    let single = facts.single;
    let (Some(weights), Some(activations)) = (single.weights, single.activations) else {
        return Vec::new();
    };
    if single.whole.is_none_or(|whole| whole > ENOUGH) || facts.weights.is_none() {
        return Vec::new();
    }
    let text = |one: &str, least: f64, other: &str, most: f64| {
        format!("rounding its {one} alone leaves {least:.1} dB at the outputs, rounding its {other} alone {most:.1} dB")
    };
    let found = if weights + APART <= activations {
        let text = text("weights", weights, "activations", activations);
        let words = match wider_weights(facts) {
            Some(wider) => format!("weights.type = \"{wider}\""),
            None => "weights.observer = \"mse\"".to_owned(),
        };
        reason(LossCode::Weights.name(), text, Some(facts.layer_rule(&words)))
    } else if activations + APART <= weights {
        reason(
            LossCode::Activations.name(),
            text("activations", activations, "weights", weights),
            facts.wide_rule(),
        )
    } else {
        return Vec::new();
    };
    vec![found]
}

/// The next wider type that the target has for weights of this layer.
fn wider_weights(facts: &Facts<'_>) -> Option<Integer> {
    let (spec, graph) = (facts.analysed.spec, facts.analysed.built.annotated.main());
    let id = facts.group.main;
    let types =
        [Port::Operand(0), Port::Operand(1)].map(|port| graph.quant.scheme_of(id, port).and_then(Scheme::int_type));
    let [activations, own] = types;
    let (activations, own) = (activations?, own?.bits());
    let pairs = spec.pairs_of(graph.node(id)?.op.term());
    let pairs = pairs.filter(|pair| pair.codes().map(IntType::from) == Some(activations));
    let wider = pairs
        .map(|pair| pair.weight)
        .filter(|&weight| IntType::from(weight).bits() > own);
    wider.min_by_key(|&weight| IntType::from(weight).bits())
}
