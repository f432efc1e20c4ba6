//! Lints: findings of a compilation that lower the accuracy and could be avoided by changing the model or the
//! configuration.

use serde::{Deserialize, Serialize};
use strait_core::{Elem, Module, NodeId, QuantParams, ValueId};
use strait_quantize::annotate::{
    Coarser, Findings, GivenAway, Overlapped, PartKind, Raised, Requantized, RequantizedLoss, RuleRange, Unfitting,
    UnlikePart,
};

strait_document::words! {
    /// The code of a [`Lint`]. `crates/explain` has an example and a remedy for each.
    LintCode {
        /// One value takes at least 99 % of a grid, and the others are not all zero.
        RangeGivenAway = "range-given-away",
        /// Part of a tensor, or some of its channels, lose three bits or more, because they share a grid with much larger numbers.
        RangeUnlike = "range-unlike",
        /// The target has no form for the grid that the range requires, so a coarser one is used.
        GridCoarser = "grid-coarser",
        /// A tensor has the grid that one of its readers requires, and the other readers have to use this grid, too.
        GridImposed = "grid-imposed",
        /// Weights have a larger scale than their range requires, since otherwise their bias or the scale itself would not fit.
        ScaleRaised = "scale-raised",
        /// A range in the configuration is narrower than the range that was seen.
        RangeClips = "range-clips",
        /// A range in the configuration is at least four times as wide as the range that was seen.
        RangeWide = "range-wide",
        /// A range in the configuration is not used, since other tensors share the grid.
        RangeOverruled = "range-overruled",
        /// The target cannot use the grid that the quantized model has for a tensor, so the tensor has another one.
        GridRequantized = "grid-requantized",
    }
}

/// A finding that lowers the accuracy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lint {
    /// Stable code of the finding, in kebab-case. `range-given-away`: one value takes at least 99 % of a grid, and the
    /// others are not all zero. `range-unlike`: part of a tensor, or some of its channels, lose three bits or more
    /// because they share a grid with much larger numbers. `grid-coarser`: the target has no form for the grid that the
    /// range requires, so a coarser one is used. `scale-raised`: weights have a larger scale than their range requires,
    /// since otherwise their bias or the scale itself would not fit. `grid-imposed`: a tensor has the grid that one of
    /// its readers requires, and the other readers have to use this grid, too. `range-clips` and `range-wide`: a range
    /// in the configuration is narrower than the range that was seen, or at least four times as wide.
    /// `range-overruled`: a range in the configuration is not used, since other tensors share the grid.
    /// `grid-requantized`: the target cannot use the grid that the quantized model has for a tensor, so the tensor has
    /// another one.
    pub code: String,
    /// The finding in one sentence.
    pub text: String,
    /// The layer of the canonical model that computes the tensor, or that reads it if it is a constant or an input. For
    /// `grid-imposed` it is the layer that requires the grid.
    pub layer: String,
    /// The tensor that the finding is about.
    pub tensor: String,
    /// The channel that the finding is about, if each channel has a grid of its own.
    pub channel: Option<usize>,
    /// For `range-given-away`: the value that takes nearly the whole grid.
    pub taken: Option<Taken>,
    /// For `range-unlike`: the part that loses accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartLoss>,
    /// For `grid-coarser`: how many times larger the grid's step is than the step that the range requires.
    pub factor: Option<u32>,
    /// For `grid-imposed`: the readers of the tensor that did not require this grid. For `range-unlike`: the layers
    /// that read the small part of the tensor together with the larger parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readers: Vec<String>,
    /// For `grid-requantized`: how much is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requantized: Option<RequantizedBy>,
    /// For `range-clips`, `range-wide` and `range-overruled`: the configured range and the range that was seen.
    #[serde(rename = "stated", default, skip_serializing_if = "Option::is_none")]
    pub range: Option<RangeLoss>,
}

/// Part of a tensor that has too coarse a grid, because it shares the grid with larger numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartLoss {
    /// The channels that are affected, if the part is not a tensor of its own. The channel that loses most comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<usize>,
    /// How many steps of the grid lie between the smallest and the largest number of the part, zero included.
    pub steps: f64,
    /// How many bits the part loses compared with a grid of its own.
    pub bits: f64,
}

/// A range in the configuration, compared with the range that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RangeLoss {
    /// Smallest and largest number of the configured range.
    pub range: [f32; 2],
    /// Smallest and largest number that was seen, limited to the numbers that make a difference for the layers that
    /// read the tensor.
    pub seen: [f32; 2],
    /// Fraction of the numbers seen that saturate.
    pub clipped: f64,
}

/// What a tensor loses because it has another grid than in the quantized model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequantizedBy {
    /// For a tensor that is computed: how many times larger its steps are than in the quantized model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<f64>,
    /// For a constant: signal-to-noise ratio of the change, in dB. Absent if its numbers do not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snr: Option<f64>,
}

/// A value that takes up nearly all of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The value itself.
    pub value: f32,
    /// Fraction of the grid that the value takes, at most 1.
    pub share: f64,
    /// Number of steps of the grid that are left for all other values.
    pub steps: f64,
}

/// Makes the lints about grids. Nodes and values in `findings` are those of the canonical module.
pub(super) fn lints(canonical: &Module, findings: &Findings) -> Vec<Lint> {
    let Findings {
        given_away: away,
        unlike,
        coarser,
        overlapped,
        raised,
        rule_ranges,
        requantized,
    } = findings;
    let away = away.iter().filter_map(|away| given_away(canonical, away));
    let unlike = unlike.iter().filter_map(|part| beside_others(canonical, part));
    away.chain(unlike)
        .chain(coarser.iter().filter_map(|coarser| too_coarse(canonical, coarser)))
        .chain(overlapped.iter().filter_map(|found| imposed(canonical, found)))
        .chain(raised.iter().filter_map(|found| too_large(canonical, found)))
        .chain(rule_ranges.iter().filter_map(|found| rule_range(canonical, found)))
        .chain(requantized.iter().filter_map(|found| other_grid(canonical, found)))
        .collect()
}

/// The names of a layer and of a tensor.
fn names(canonical: &Module, node: NodeId, value: ValueId) -> Option<[&str; 2]> {
    let graph = canonical.main();
    let [layer, tensor] = [graph.node(node)?.name, graph.value(value)?.name];
    Some([canonical.name(layer), canonical.name(tensor)])
}

fn lint(code: LintCode, [layer, tensor]: [&str; 2], text: String) -> Lint {
    Lint {
        code: code.name().to_owned(),
        text,
        layer: layer.to_owned(),
        tensor: tensor.to_owned(),
        ..Lint::default()
    }
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
        // If less than one step is left, it counts as one step, because no more bits can be lost than the codes have.
        (codes as f64 / loss.codes.max(1.0)).log2()
    );
    Some(Lint {
        channel: loss.channel,
        taken: Some(Taken {
            value: loss.extreme,
            share: loss.share,
            steps: loss.codes,
        }),
        ..lint(LintCode::RangeGivenAway, [layer, tensor], text)
    })
}

/// Joins the first few words of a list. If the list has more words, their number is appended.
fn some(mut words: Vec<String>) -> String {
    if let Some(more @ 1..) = words.len().checked_sub(MOST_NAMED) {
        words.truncate(MOST_NAMED);
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

fn beside_others(canonical: &Module, found: &UnlikePart) -> Option<Lint> {
    let [layer, tensor] = names(canonical, found.node, found.value)?;
    let graph = canonical.main();
    let (steps, bits) = (found.lost.codes, found.lost.bits());
    let left = format!("{steps:.1} steps of this grid, which costs {bits:.1} bits");
    let results = graph.node(found.node)?.outputs.iter();
    let mut readers: Vec<String> = results
        .flat_map(|&result| graph.uses(result))
        .filter_map(|at| Some(canonical.name(graph.node(at.node)?.name).to_owned()))
        .collect();
    readers.dedup();
    let (channels, text) = match &found.kind {
        PartKind::Channels(channels) => (
            channels.clone(),
            format!(
                "{}, of `{tensor}` ({}): layer `{layer}` makes larger numbers beside them; a tensor of 16 bits, where the \
                 target has them, or a layer for them alone keeps them",
                match channels.len() {
                    1 => format!("one channel has {left}"),
                    count => format!("{count} channels have down to {left}"),
                },
                some(channels.iter().map(usize::to_string).collect())
            ),
        ),
        PartKind::Joined | PartKind::CutOut => {
            let keeps = match found.leaves || readers.is_empty() {
                true => format!("16 bits for `{layer}`, where the target has them, or float keep it"),
                false => format!(
                    "16 bits for what reads that, where the target has them, keep it: {}",
                    some(readers.iter().map(|name| format!("`{name}`")).collect())
                ),
            };
            let text = format!("`{tensor}` has {left}: layer `{layer}` has larger numbers beside it; {keeps}");
            (Vec::new(), text)
        }
    };
    Some(Lint {
        part: Some(PartLoss { channels, steps, bits }),
        readers: if found.leaves { Vec::new() } else { readers },
        ..lint(LintCode::RangeUnlike, [layer, tensor], text)
    })
}

fn too_coarse(canonical: &Module, coarser: &Coarser) -> Option<Lint> {
    let [layer, tensor] = names(canonical, coarser.node, coarser.value)?;
    // The shift does not overflow: a grid that is more than 2^7 times as coarse as needed could only represent zero.
    let factor = 1u32.checked_shl(coarser.doublings)?;
    let text = format!(
        "the grid of layer `{layer}`, tensor `{tensor}`, is {factor} times as coarse as its range asks for, which costs \
         {} bit{}: {}",
        coarser.doublings,
        if coarser.doublings == 1 { "" } else { "s" },
        coarser.reason.text,
    );
    Some(Lint {
        factor: Some(factor),
        ..lint(LintCode::GridCoarser, [layer, tensor], text)
    })
}

fn too_large(canonical: &Module, raised: &Raised) -> Option<Lint> {
    let [layer, tensor] = names(canonical, raised.node, raised.weights)?;
    let others = match raised.channels {
        0 | 1 => String::new(),
        channels => format!(", and of {} more channels", channels - 1),
    };
    let text = format!(
        "the scale of the weights of layer `{layer}`, channel {}{others}, is raised: {}",
        raised.channel, raised.reason.text,
    );
    Some(Lint {
        channel: Some(raised.channel),
        ..lint(LintCode::ScaleRaised, [layer, tensor], text)
    })
}

/// How many readers or channels a sentence names, at most.
const MOST_NAMED: usize = 3;

fn imposed(canonical: &Module, found: &Overlapped) -> Option<Lint> {
    let [aligned, tensor] = names(canonical, found.aligned, found.value)?;
    let graph = canonical.main();
    let readers = found.readers.iter().filter_map(|&id| graph.node(id));
    let readers: Vec<String> = readers.map(|node| canonical.name(node.name).to_owned()).collect();
    let text = format!(
        "tensor `{tensor}` is on the grid that its reader `{aligned}` is aligned to, for {} as well",
        some(readers.iter().map(|name| format!("`{name}`")).collect())
    );
    Some(Lint {
        readers,
        ..lint(LintCode::GridImposed, [aligned, tensor], text)
    })
}

fn rule_range(canonical: &Module, found: &RuleRange) -> Option<Lint> {
    let [layer, tensor] = names(canonical, found.node, found.value)?;
    let ([low, high], [least, most]) = (found.range, found.seen);
    let about = format!("the range [{low}, {high}] of layer `{layer}`, tensor `{tensor}`,");
    let (code, text, clipped) = match found.unfitting {
        Unfitting::Clips(share) => (
            LintCode::RangeClips,
            format!(
                "{about} clips {:.3} % of what was seen, which is in [{least}, {most}]",
                100.0 * share
            ),
            share,
        ),
        Unfitting::Wide(times) => (
            LintCode::RangeWide,
            format!(
                "{about} is {times:.1} times as wide as what was seen, [{least}, {most}], which costs {:.1} bits",
                times.log2()
            ),
            0.0,
        ),
        Unfitting::Overruled([first, last]) => (
            LintCode::RangeOverruled,
            format!("{about} is not that of its grid, [{first}, {last}], which others share and have to fit on"),
            0.0,
        ),
    };
    Some(Lint {
        range: Some(RangeLoss {
            range: found.range,
            seen: found.seen,
            clipped,
        }),
        ..lint(code, [layer, tensor], text)
    })
}

fn other_grid(canonical: &Module, found: &Requantized) -> Option<Lint> {
    let [layer, tensor] = names(canonical, found.node, found.value)?;
    let (loss, steps, snr) = match found.loss {
        RequantizedLoss::Steps(steps) => (format!("its steps are {steps:.2} times as large"), Some(steps), None),
        RequantizedLoss::Noise(f64::INFINITY) => ("its numbers are the same".to_owned(), None, None),
        RequantizedLoss::Noise(ratio) => {
            let snr = 10.0 * ratio.log10();
            (format!("its numbers have an SNR of {snr:.1} dB"), None, Some(snr))
        }
    };
    let text = format!(
        "tensor `{tensor}` is in {} in the model, and in {} now: {loss}; of layer `{layer}` {}",
        grid_text(&found.from),
        grid_text(&found.to),
        found.reason.text,
    );
    Some(Lint {
        requantized: Some(RequantizedBy { steps, snr }),
        ..lint(LintCode::GridRequantized, [layer, tensor], text)
    })
}

/// The type of the codes, as text. If there is only one scale and one zero point, the text also states them.
fn grid_text((elem, grid): &(Elem, QuantParams)) -> String {
    match (grid.as_tensor(), grid.scale.channels()) {
        (Some((scale, zero)), _) => format!("{elem} with the scale {scale} and the zero point {zero}"),
        (None, Some(scales)) => format!("{elem} with {scales} scales"),
        (None, None) => format!("{elem} with several zero points"),
    }
}
