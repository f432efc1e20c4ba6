//! Estimates the cycles that an operator takes on an Ethos-U55.
//!
//! The estimate is for the configuration with 128 multiply-adds per cycle, weights in flash behind a bus of one byte per cycle,
//! and feature maps in SRAM: Vela's `ethos-u55-128` with its system configuration `Ethos_U55_High_End_Embedded` and memory mode
//! `Shared_Sram`. The rates were fitted to what Vela 5.2 prints with `--verbose-performance`; the sums over eleven networks are
//! within 18 % of Vela's. `cargo xtask oracles --devices` compares them.
//!
//! A convolution computes blocks of 2 positions and 8 channels of its result. For each block, it takes a step for each tap and
//! each 8 channels of its input, and at least 4 steps; a depthwise convolution takes 12 steps for 9 taps. While it computes,
//! weights and feature maps move, so the slowest of the three counts.

use super::site::Site;
use crate::graph::{Graph, Node, Tensor};

/// The name of the configuration.
pub(super) const CONFIGURATION: &str = "ethos-u55-128";

/// Cycles for a thousand steps of a block.
const STEP: u64 = 1200;
/// Cycles for the start of a convolution, and of an operator that is a single product of a matrix and a vector.
const START: [u64; 2] = [500, 150];
/// Thousandths of a cycle for a byte of weights. Those of a convolution stream while the operator before still computes, and
/// Vela compresses them.
const WEIGHT: [u64; 2] = [500, 1000];
/// Thousandths of a cycle for a byte of a feature map.
const FEATURE: u64 = 150;
/// Thousandths of a cycle for an element of a convolution's result.
const RESULT: u64 = 500;
/// Bytes of the scale and bias of a channel.
const CHANNEL: u64 = 10;

/// Thousandths of a cycle for an element of the result of other operators.
const ELEMENTS: &[(&str, u64)] = &[
    ("ADD", 1500),
    ("SUB", 1500),
    ("MUL", 750),
    ("MAXIMUM", 750),
    ("MINIMUM", 750),
    ("CONCATENATION", 250),
    ("PACK", 250),
    ("STRIDED_SLICE", 1750),
    ("SLICE", 500),
    ("SPLIT", 500),
    ("PAD", 500),
    ("TRANSPOSE", 500),
    ("SOFTMAX", 23_000),
];

/// Operators that only give a tensor another shape.
const FREE: &[&str] = &["RESHAPE", "SQUEEZE", "EXPAND_DIMS"];

/// The cycles of an operator that the accelerator takes.
pub(super) fn cycles(graph: &Graph<'_>, node: &Node<'_>, operator: &str) -> u64 {
    let site = Site::of(graph, node, |at| at == 0);
    let elements = |tensor: Option<&Tensor>| tensor.map_or(0, count);
    let results = node.outputs.iter().flatten();
    let results = results.fold(0u64, |sum, &at| sum.saturating_add(count(&graph.tensors[at])));
    let inputs = elements(site.input(0));
    match operator {
        "CONV_2D" | "DEPTHWISE_CONV_2D" | "TRANSPOSE_CONV" | "FULLY_CONNECTED" => product(&site, operator),
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" => {
            let [height, width] = site.window().map_or([1, 1], |window| window.kernel);
            let taps = positive(height).saturating_mul(positive(width));
            START[0].saturating_add(thousandths(results.saturating_mul(taps), 260))
        }
        "MEAN" | "SUM" | "REDUCE_MAX" => 1000u64.saturating_add(thousandths(inputs, 1100)),
        free if FREE.contains(&free) => 0,
        other => {
            let rate = ELEMENTS
                .iter()
                .find(|(name, _)| *name == other)
                .map_or(1000, |(_, rate)| *rate);
            thousandths(results, rate)
        }
    }
}

/// The cycles of an operator with weights.
fn product(site: &Site<'_>, operator: &str) -> u64 {
    let (Some(input), Some(result)) = (site.features.first(), site.output()) else {
        return 0;
    };
    // The operands of a transposed convolution are the shape, the weights and the input.
    let input = if operator == "TRANSPOSE_CONV" {
        site.input(2).unwrap_or(input)
    } else {
        input
    };
    let Some(weights) = site.input(1) else { return 0 };
    let is_matrix = operator == "FULLY_CONNECTED";
    let [height, width, channels] = match is_matrix {
        // The rows lie along the width.
        true => {
            let channels = positive(result.image()[2]);
            [1, count(result) / channels, channels]
        }
        false => result.image().map(positive),
    };
    let extents = weights.extents();
    let extent = |axis: usize| extents.get(axis).copied().map_or(1, positive);
    let deep = extents.last().copied().map_or(1, positive).div_ceil(8);
    let taps = extent(1).saturating_mul(extent(2));
    let steps = match operator {
        "DEPTHWISE_CONV_2D" => taps.div_ceil(4) * 4,
        "FULLY_CONNECTED" => deep,
        _ => taps.saturating_mul(deep).max(4),
    };
    let blocks = height
        .saturating_mul(width.div_ceil(2))
        .saturating_mul(channels.div_ceil(8));
    let results = count(result);
    let computing = thousandths(blocks.saturating_mul(steps), 1000).max(thousandths(results, RESULT));
    let kind = usize::from(is_matrix);
    let computing = thousandths(computing, STEP).saturating_add(START[kind]);
    let constants = count(weights).saturating_add(channels.saturating_mul(CHANNEL));
    let moved = thousandths(results.saturating_add(count(input)), FEATURE);
    computing.max(thousandths(constants, WEIGHT[kind])).max(moved)
}

/// The number of elements. An extent that is not known counts as 1.
fn count(tensor: &Tensor) -> u64 {
    tensor.extents().into_iter().map(positive).fold(1, u64::saturating_mul)
}

fn positive(extent: i64) -> u64 {
    u64::try_from(extent).unwrap_or(1).max(1)
}

fn thousandths(count: u64, rate: u64) -> u64 {
    count.saturating_mul(rate) / 1000
}
