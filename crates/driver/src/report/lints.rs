//! Findings of a compilation that cost accuracy and can be mended in the model or the configuration.

use serde::{Deserialize, Serialize};
use strait_core::Module;
use strait_quantize::annotate::GivenAway;
use strait_target::TargetSpec;

/// Something that costs accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lint {
    /// Stable, kebab-case. `range-given-away`: one value takes at least 99 % of a grid, and the others are not all
    /// zero.
    pub code: String,
    /// One sentence.
    pub text: String,
    /// The layer of the canonical model that makes the tensor, or that reads it where it is a constant or an input.
    pub layer: String,
    /// The tensor.
    pub tensor: String,
    /// The channel whose grid it is, where each has one.
    pub channel: Option<usize>,
    /// The value that takes the grid.
    pub value: f32,
    /// The part of the grid that it takes, at most 1.
    pub share: f64,
    /// Number of steps of the grid that are left for all others.
    pub steps: f64,
}

/// The lints of grids; nodes and values are those of the canonical module.
pub(super) fn lints(canonical: &Module, spec: &TargetSpec, found: &[GivenAway]) -> Vec<Lint> {
    let range = spec.types.activation_range();
    let codes = range.end() - range.start();
    let graph = canonical.main();
    let lint = |away: &GivenAway| {
        let layer = canonical.name(graph.node(away.node)?.name);
        let tensor = canonical.name(graph.value(away.value)?.name);
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
            (f64::from(codes) / loss.codes.max(1.0)).log2()
        );
        Some(Lint {
            code: "range-given-away".to_owned(),
            text,
            layer: layer.to_owned(),
            tensor: tensor.to_owned(),
            channel: loss.channel,
            value: loss.extreme,
            share: loss.share,
            steps: loss.codes,
        })
    };
    found.iter().filter_map(lint).collect()
}
