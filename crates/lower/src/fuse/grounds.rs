//! The grounds of a certificate: the facts that its interval follows from, and a digest of all of them.

use super::site::{Producer, RequantizationSite};
use sha2::{Digest as _, Sha256};
use strait_core::op::Reduction;
use strait_core::shape::window_elements;
use strait_core::{Addend, Node, Op, TensorData, ValueId, WeightZero};
use strait_requantize::certificate::Digest;
use strait_requantize::{Because, Certificate};

/// The facts from which [`Bounds`](crate::interval::Bounds) has computed the bounds of the producer's result.
pub(super) fn because(site: &RequantizationSite<'_>, inside: bool, links: usize) -> Vec<Because> {
    let by_channel = site.by_channel(links);
    let Some(node) = site.reads(inside) else {
        return vec![Because::Entries];
    };
    let added = site.added.as_ref().filter(|_| inside);
    let added = added.and_then(|added| operand(site, Addend::OPERAND, added.codes));
    let operands = |count: usize| -> Vec<Because> {
        let each = node.inputs.iter().take(count).enumerate();
        each.filter_map(|(index, value)| operand(site, index, (*value)?))
            .collect()
    };
    let padding = |pad: &[u32], value: i32| pad.iter().any(|&p| p > 0).then_some(Because::Padding { value });
    let zero_points = |zeros: [i32; 2]| (zeros != [0, 0]).then_some(Because::ZeroPoints);
    let weight_zero = |zeros: &WeightZero| (!zeros.is_zero()).then_some(Because::ZeroPoints);
    let parameters = |node: &Node| {
        let has_bias = node.inputs.get(2).is_some_and(Option::is_some);
        [Some(Because::Weights), has_bias.then_some(Because::Bias)]
    };
    let mut facts: Vec<Because> = match &node.op {
        Op::Conv(op) => {
            let facts = operands(1).into_iter().chain(parameters(node).into_iter().flatten());
            facts
                .chain(padding(&op.pad, op.pad_value))
                .chain(weight_zero(&op.weight_zero))
                .collect()
        }
        Op::Gemm(op) if op.is_canonical() => operands(1)
            .into_iter()
            .chain(parameters(node).into_iter().flatten())
            .chain(weight_zero(&op.weight_zero))
            .collect(),
        Op::MatMul(op) => {
            let elements = site.extents().last().copied().unwrap_or(1);
            let facts = operands(2).into_iter().chain(zero_points([op.a_zero, op.b_zero]));
            facts.chain([Because::Window { elements }]).collect()
        }
        Op::Mul(op) => operands(2)
            .into_iter()
            .chain(zero_points([op.a_zero, op.b_zero]))
            .collect(),
        Op::Add(_) | Op::Sub(_) => operands(2),
        Op::ShiftLeft(op) => operands(1).into_iter().chain(zero_points([op.zero, 0])).collect(),
        Op::SumPool(op) => {
            let elements = window_elements(&op.size);
            let facts = operands(1).into_iter().chain([Because::Window { elements }]);
            let by_channel = by_channel.map(|each| Because::Elements {
                most: each.into_iter().map(|(_, most)| most).collect(),
            });
            let facts = facts.chain(by_channel);
            facts.chain(padding(&op.pad, op.pad_value)).collect()
        }
        Op::Reduce(op) if op.reduction == Reduction::Sum => {
            let dims = site.extents();
            let axes = op.reduced(dims.len()).unwrap_or_default();
            let elements = axes.iter().filter_map(|&axis| dims.get(axis)).product();
            operands(1).into_iter().chain([Because::Window { elements }]).collect()
        }
        Op::Clamp(_) | Op::MaxPool(_) | Op::Reduce(_) | Op::Reshape(_) | Op::Transpose(_) => operands(1),
        Op::Lookup(_) => vec![Because::Entries],
        _ => site.wide_type().map(Because::Type).into_iter().collect(),
    };
    facts.extend(added);
    facts
}

/// The fact that the elements of an operand lie in its interval.
fn operand(site: &RequantizationSite<'_>, index: usize, value: ValueId) -> Option<Because> {
    let all = site.bounds(value)?;
    let low = all.values().iter().map(|ends| ends.0).min()?;
    let high = all.values().iter().map(|ends| ends.1).max()?;
    let index = index as u32;
    Some(Because::Operand { index, low, high })
}

/// The index of the requantization's operand that selects the channel of each element.
const PICKS: usize = 1;

/// Computes a SHA-256 of everything from which a certificate follows. The digest covers, in this order:
/// - JSON with the kind of proof, the chains of steps, the interval, and the facts from which the interval follows
/// - each constant operand of the producer, or the producer itself if it is a constant: its index, its number of bytes,
///   and the bytes
/// - the constant that selects the channels of the requantizations, if there is one, with its index among the operands
///   of these requantizations
///
/// Numbers take 8 bytes and are little-endian.
pub(super) fn digest(
    site: &RequantizationSite<'_>,
    (inside, links): (bool, usize),
    certificate: &Certificate,
    because: &[Because],
) -> Option<Digest> {
    let mut hasher = Sha256::new();
    let claim = (
        &certificate.argument,
        &certificate.before,
        &certificate.after,
        &certificate.interval,
        because,
    );
    hasher.update(serde_json::to_vec(&claim).ok()?);
    let mut add = |position: usize, tensor: &TensorData| {
        hasher.update((position as u64).to_le_bytes());
        hasher.update((tensor.bytes().len() as u64).to_le_bytes());
        hasher.update(&tensor.bytes()[..]);
    };
    match (site.producer, site.reads(inside)) {
        (Producer::Node(..), Some(node)) => {
            for (position, value) in node.inputs.iter().enumerate() {
                if let Some(tensor) = value.and_then(|v| site.module.constant(site.graph, v)) {
                    add(position, tensor);
                }
            }
        }
        (Producer::Constant(tensor), _) => add(0, tensor),
        (Producer::Node(..), None) => {}
    }
    let codes = site.added.as_ref().filter(|_| inside).map(|added| added.codes);
    if let Some(tensor) = codes.and_then(|v| site.module.constant(site.graph, v)) {
        add(Addend::OPERAND, tensor);
    }
    if let Some(tensor) = site.picks(links).and_then(|v| site.module.constant(site.graph, v)) {
        add(PICKS, tensor);
    }
    Some(Digest(hasher.finalize().into()))
}
