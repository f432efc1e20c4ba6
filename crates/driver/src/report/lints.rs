//! Findings of a compilation that cost accuracy and can be mended in the model or the configuration.

use serde::{Deserialize, Serialize};
use strait_core::{Module, NodeId, ValueId};
use strait_quantize::annotate::{Coarser, GivenAway};

/// Something that costs accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lint {
    /// Stable, kebab-case. `range-given-away`: one value takes at least 99 % of a grid, and the others are not all
    /// zero. `grid-coarser`: no form of the target serves the grid that the range asks for.
    pub code: String,
    /// One sentence.
    pub text: String,
    /// The layer of the canonical model that makes the tensor, or that reads it where it is a constant or an input.
    pub layer: String,
    /// The tensor.
    pub tensor: String,
    /// The channel whose grid it is, where each has one.
    pub channel: Option<usize>,
    /// Of `range-given-away`: the value that takes the grid.
    pub taken: Option<Taken>,
    /// Of `grid-coarser`: the step of the grid is this many times that of the range.
    pub factor: Option<u32>,
}

/// A grid that one value takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The value.
    pub value: f32,
    /// The part of the grid that it takes, at most 1.
    pub share: f64,
    /// Number of steps of the grid that are left for all others.
    pub steps: f64,
}

/// The lints of grids; nodes and values are those of the canonical module.
pub(super) fn lints(canonical: &Module, away: &[GivenAway], coarser: &[Coarser]) -> Vec<Lint> {
    let away = away.iter().filter_map(|away| given_away(canonical, away));
    away.chain(coarser.iter().filter_map(|coarser| too_coarse(canonical, coarser)))
        .collect()
}

/// The names of a layer and of a tensor.
fn names(canonical: &Module, node: NodeId, value: ValueId) -> Option<[&str; 2]> {
    let graph = canonical.main();
    let [layer, tensor] = [graph.node(node)?.name, graph.value(value)?.name];
    Some([canonical.name(layer), canonical.name(tensor)])
}

fn given_away(canonical: &Module, away: &GivenAway) -> Option<Lint> {
    let codes = away.steps;
    let [layer, tensor] = names(canonical, away.node, away.value)?;
    let loss = away.loss;
    let channel = loss
        .channel
        .map_or_else(String::new, |channel| format!(", channel {channel}"));
    let text = format!(
        "{} takes {:.1} % of this grid: layer `{layer}`, tensor `{tensor}`{channel}; all others share {:.1} of {codes} \
         steps, which costs them {:.1} bits",
        loss.extreme,
        100.0 * loss.share,
        loss.codes,
        // Less than a step is no step, and more bits than there are cannot be lost.
        (codes as f64 / loss.codes.max(1.0)).log2()
    );
    Some(Lint {
        code: "range-given-away".to_owned(),
        text,
        layer: layer.to_owned(),
        tensor: tensor.to_owned(),
        channel: loss.channel,
        taken: Some(Taken {
            value: loss.extreme,
            share: loss.share,
            steps: loss.codes,
        }),
        factor: None,
    })
}

fn too_coarse(canonical: &Module, coarser: &Coarser) -> Option<Lint> {
    let [layer, tensor] = names(canonical, coarser.node, coarser.value)?;
    // Grids that hold more than zero are at most 2^7 times as coarse.
    let factor = 1u32.checked_shl(coarser.doublings)?;
    let text = format!(
        "the grid of layer `{layer}`, tensor `{tensor}`, is {factor} times as coarse as its range asks for, which costs \
         {} bit{}: {}",
        coarser.doublings,
        if coarser.doublings == 1 { "" } else { "s" },
        coarser.reason.text,
    );
    Some(Lint {
        code: "grid-coarser".to_owned(),
        text,
        layer: layer.to_owned(),
        tensor: tensor.to_owned(),
        channel: None,
        taken: None,
        factor: Some(factor),
    })
}
