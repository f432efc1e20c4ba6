//! Which scale was moved between layers.

use serde::{Deserialize, Serialize};
use strait_compile::{Cut, MigratedModel, Pair, Rule};
use strait_core::{Module, NodeId};

use crate::untouched::UntouchedLayer;

/// Scale that was moved between layers, one channel at a time, by `smooth` and `equalize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MovedScale {
    /// The power of the error divided by the power of the float outputs on the samples that judge, before and after. `null` if
    /// no factors were found.
    pub error: Option<[f64; 2]>,
    /// The factors that were found, in the order of the graph.
    pub pairs: Vec<ScalePair>,
    /// The layers for which nothing was found, each with the reason.
    pub untouched: Vec<UntouchedLayer>,
}

/// Factors that move scale between the layers that make a value and the layers that read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScalePair {
    /// The layers whose parameters are divided by the factors. If there are none, an added node divides.
    pub makers: Vec<String>,
    /// The layers whose weights are multiplied by the factors. If there are none, an added multiplication follows the makers.
    pub readers: Vec<String>,
    /// The tensor at which a node was added: a multiplication in front of the readers or behind the makers, or a second
    /// normalization. `null` if none is needed.
    pub added: Option<String>,
    /// How the factors were computed. `migrate`: max|x|^strength / max|w|^(1 - strength), with the activations x and the
    /// weights w that read them. `equalize`: the root of max|v| / max|w|, with the weights v that make a channel.
    pub rule: String,
    /// The strength of the rule `migrate`.
    pub strength: Option<f64>,
    /// The largest factor divided by the smallest one.
    pub spread: f64,
    /// The error of the layers around it, divided by the power of their results, before and after.
    pub error: [f64; 2],
    /// True if the factors are used: with them, the outputs of the whole model come closer to those of the float model.
    pub used: bool,
}

/// Makes the report. The nodes and values are those of the canonical module.
pub(super) fn moved_scale(canonical: &Module, model: &MigratedModel) -> MovedScale {
    let graph = canonical.main();
    let order = graph.topological_order().unwrap_or_default();
    let name = |id: NodeId| graph.node(id).map_or("", |node| canonical.name(node.name)).to_owned();
    let place = |id: &NodeId| order.iter().position(|other| other == id).unwrap_or(order.len());
    let names = |ids: &[NodeId]| ids.iter().copied().map(name).collect();
    let pair = |(at, pair): (usize, &Pair)| {
        let value = pair.cut.map(Cut::value).and_then(|value| graph.value(value));
        ScalePair {
            makers: names(&pair.makers),
            readers: names(&pair.readers),
            added: value.map(|value| canonical.name(value.name).to_owned()),
            rule: pair.rule.name().to_owned(),
            strength: match pair.rule {
                Rule::Migrate { strength } => Some(strength),
                Rule::Equalize => None,
            },
            spread: pair.spread,
            error: pair.errors,
            used: model.kept.contains(&at),
        }
    };
    let mut pairs: Vec<(usize, ScalePair)> = (model.found.pairs.iter().enumerate())
        .map(|(at, own)| {
            let around = own.makers.iter().chain(&own.readers);
            (around.map(place).min().unwrap_or(0), pair((at, own)))
        })
        .collect();
    pairs.sort_by_key(|(at, _)| *at);
    let mut untouched: Vec<(usize, UntouchedLayer)> = (model.found.untouched.iter())
        .map(|(id, why)| {
            let layer = UntouchedLayer {
                layer: name(*id),
                reason: why.clone(),
            };
            (place(id), layer)
        })
        .collect();
    untouched.sort_by_key(|(at, _)| *at);
    MovedScale {
        error: model.error,
        pairs: pairs.into_iter().map(|(_, pair)| pair).collect(),
        untouched: untouched.into_iter().map(|(_, layer)| layer).collect(),
    }
}
