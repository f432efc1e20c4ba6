//! **Pattern**: a conv of an image whose channels a slice has put into the opposite order.
//! **Why**: a camera hands over blue first where the model wants red first. The same products are added if the weights
//! of the input channels change places instead.
//! **Preconditions**: the slice takes all channels in the opposite order and nothing else. Only the conv reads its
//! result. The conv has one group, and its weights are constants without a grid of the model.
//! **Exactness**: exact, because the same products are added.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::op::Slice;
use strait_core::{NewNode, Op, Patch, ReasonCode, Source, Term, refused};

/// The rule that folds the opposite order of channels into the weights of the convolution after it.
pub const RULE: NodeRule = NodeRule {
    name: "reversed-channels-into-conv",
    anchors: || vec![Term::Conv],
    depth: || 2,
    is_fusion: true,
    look,
};

/// True if a slice takes all channels of a value, the last one first, and leaves the other axes as they are.
fn reverses(site: &GraphNode<'_>, slice: &Slice) -> Option<bool> {
    let shape = &site.graph.value(site.input(0)?)?.ty.shape;
    let spans = slice.spans(shape).ok()?;
    let [(1, first, -1, count)] = spans[..] else {
        return Some(false);
    };
    let channels = shape.get(1)?.fixed()?;
    Some(count == channels && first + 1 == channels)
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let x = site.operand(0)?;
    let slice = site.producer(x, Term::Slice).ok_or(NoMatch)?;
    let (Op::Conv(conv), Op::Slice(op)) = (&site.node.op, &slice.node.op) else {
        return Err(NoMatch);
    };
    if slice.node.inputs.len() != 1 || reverses(&slice, op) != Some(true) {
        return Err(NoMatch);
    }
    if !site.used_once(x) {
        return refused(
            ReasonCode::SeveralUses,
            "the channels in this order are used elsewhere too",
        );
    }
    if conv.groups != 1 {
        return refused(ReasonCode::NotPerChannel, "the convolution has groups of channels");
    }
    let value = site.operand(1)?;
    let is_given = site.graph.value(value).is_some_and(|weight| weight.quant.is_some());
    let Some((weight, numbers)) = site.exact(value).filter(|_| !is_given) else {
        return refused(ReasonCode::NotConstant, "its weights are not constants of real numbers");
    };
    let &[_, inputs, ref kernel @ ..] = weight.shape() else {
        return Err(NoMatch);
    };
    // The weights are ordered by output, then by input, then by tap of the kernel.
    let (taps, inputs) = (kernel.iter().product::<u64>() as usize, inputs as usize);
    let mut moved = Vec::with_capacity(numbers.len());
    for output in numbers.chunks(inputs.saturating_mul(taps).max(1)) {
        output
            .chunks(taps.max(1))
            .rev()
            .for_each(|input| moved.extend_from_slice(input));
    }
    let mut patch = Patch::default();
    let Some(weight) = rounded(&mut patch, "weight", weight.shape(), moved)? else {
        return refused(ReasonCode::NotFinite, "a weight is not finite");
    };
    let operands = [
        slice.input(0).map(Source::Old),
        Some(weight),
        site.input(2).map(Source::Old),
    ];
    let operands = &operands[..site.node.inputs.len().clamp(2, 3)];
    patch
        .add
        .push(NewNode::new(site.node.op.clone(), operands, &[site.id, slice.id]));
    patch.remove.push(slice.id);
    site.completed(patch)
}
