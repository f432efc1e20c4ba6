//! The keys that a target, a preset or the compiler decides where a configuration leaves them out. The schema states no
//! default for these keys.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use strait_target::{
    TargetSpec,
    spec::{Activation, Integer, Pair},
};

use crate::{
    Loaded,
    optimize::Optimize,
    types::{Accept, Config, Quantize},
};

/// The keys that the target decides, with their values. Some of them depend on what the configuration says: the type of
/// the weights is that of the first pair of types with the configured type of activations.
///
/// The values are those that hold in general. The row of an op may allow less, and then the layer has the next type or
/// scheme of the table; `strait targets ID` shows the rows, and `strait inspect ARTIFACT --quant` shows the result.
pub(super) fn decided(loaded: &Loaded, spec: &TargetSpec) -> BTreeMap<String, Json> {
    let config = &loaded.config;
    let mut decided = types(&config.quantize, spec);
    let alignment = serde_json::to_value(spec.passes.alignment).unwrap_or_default();
    for (key, value) in alignment.as_object().into_iter().flatten() {
        decided.insert(format!("quantize.alignment.{key}"), value.clone());
    }
    decided.insert("calibration.observer".to_owned(), json!(spec.quantize.observer));
    decided.insert("fusion.accept".to_owned(), json!(spec.fusion_default.accept));
    // The number of the target goes with the target's word.
    let most = spec.fusion_default.max_lsb.filter(|_| config.fusion.accept.is_none());
    decided.extend(most.map(|most| ("fusion.max_lsb".to_owned(), json!(most))));
    decided.insert("output.emit".to_owned(), json!(spec.emit));
    decided
}

/// The types and grids of `[quantize]`.
fn types(quantize: &Quantize, spec: &TargetSpec) -> BTreeMap<String, Json> {
    let (activations, weights) = (quantize.activations.ty, quantize.weights.ty);
    let fits = |pair: &&Pair| {
        let is_activation = match activations {
            Some(ty) => pair.activation == ty,
            // Layers are weight-only only if the configuration asks for it.
            None => !pair.is_weight_only(),
        };
        is_activation && weights.is_none_or(|ty| pair.weight == ty)
    };
    let Some(pair) = spec.types.pairs.iter().find(fits) else {
        return BTreeMap::new();
    };
    let mut keys: Vec<(&str, Json)> = vec![
        ("activations.type", json!(pair.activation)),
        ("weights.type", json!(pair.weight)),
    ];
    if let Some(ty) = pair.activation.codes() {
        let scheme = spec.types.activation(ty);
        keys.push(("activations.symmetric", json!(scheme.symmetric)));
        keys.push(("activations.scale", json!(scheme.scale)));
    }
    keys.extend(of_weights(pair.activation, pair.weight, spec));
    let under = |(key, value): (&str, Json)| (format!("quantize.{key}"), value);
    keys.into_iter().map(under).collect()
}

fn of_weights(activation: Activation, ty: Integer, spec: &TargetSpec) -> Vec<(&'static str, Json)> {
    let scheme = spec.types.weight(ty);
    // Blocks are only for layers whose activations are real numbers.
    let blocks = activation.codes().is_none();
    let per = scheme.per.iter().find(|per| blocks || per.name() != "block");
    let block = scheme
        .block
        .first()
        .filter(|_| per.is_some_and(|per| per.name() == "block"));
    let mut keys = vec![
        ("weights.symmetric", json!(scheme.symmetric)),
        ("weights.scale", json!(scheme.scale)),
    ];
    keys.extend(per.map(|per| ("weights.per", json!(per))));
    keys.extend(block.map(|block| ("weights.block", json!(block))));
    keys
}

/// The algorithms of `[optimize]` that the preset switches on or off.
pub(super) fn presets(optimize: &Optimize) -> BTreeMap<String, bool> {
    let on = optimize.algorithms();
    let is = |of: fn(&strait_compile::Algorithms) -> bool| on.as_ref().is_some_and(of);
    let keys = [
        ("correct_bias", is(|on| on.correct_bias)),
        ("equalize", is(|on| on.equalize)),
        ("ranges", is(|on| on.ranges)),
        ("round", is(|on| on.round)),
        ("smooth", is(|on| on.smooth)),
        ("types", false),
    ];
    keys.into_iter()
        .map(|(key, on)| (format!("optimize.{key}"), on))
        .collect()
}

/// What the compiler does if a key is left out, where the documentation of the key says so in words.
pub(super) fn documented(config: &Config, key: &str) -> Option<Json> {
    const WORDS: [(&str, &str); 3] = [
        ("quantize.given", "keep"),
        ("quantize.weights.observer", "minmax"),
        ("quantize.weights.unfit", "coarser"),
    ];
    if key == "evaluation.metrics" {
        // With a metric of its own, a configuration says all metrics.
        let evaluation = config
            .evaluation
            .as_ref()
            .filter(|evaluation| evaluation.metric.is_empty())?;
        let chosen = evaluation.chosen_metrics();
        return Some(chosen.into_iter().map(|(_, metric)| Json::from(metric.name)).collect());
    }
    if key == "fusion.max_lsb" {
        return (config.fusion.accept == Some(Accept::Bounded)).then(|| json!(1));
    }
    let (_, word) = WORDS.iter().find(|(name, _)| *name == key)?;
    Some(Json::from(*word))
}
