//! **Pattern**: a conv of a tensor that a pad node has padded with zeros along its spatial axes.
//! **Why**: a convolution can pad its operand at no cost.
//! **Preconditions**: the pad has constant mode and value 0. It crops nothing, and does not pad the batch or channel axis.
//! **Exactness**: exact, because the same products are added.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::{Conv, PadMode};
use strait_core::{NewNode, Op, Patch, Reason, ReasonCode, Source, Term, refused};

/// The rule that folds a pad with zeros into the padding of the convolution after it.
pub const RULE: NodeRule = NodeRule {
    name: "pad-into-conv",
    anchors: || vec![Term::Conv],
    depth: || 2,
    is_fusion: true,
    look,
};

/// Returns the convolution with its padding increased by `amounts`. First in `amounts` are the numbers for the starts
/// of all axes, then those for the ends. Returns `None` if a convolution does not support this padding.
fn padded(conv: &Conv, amounts: &[i64]) -> Option<Conv> {
    let (begins, ends) = amounts.split_at(amounts.len() / 2);
    let outer = begins[..2].iter().chain(&ends[..2]).all(|&a| a == 0);
    let extra = begins[2..].iter().chain(&ends[2..]);
    let pad = conv
        .pad
        .iter()
        .zip(extra)
        .map(|(&p, &e)| p.checked_add(u32::try_from(e).ok()?));
    outer.then_some(())?;
    Some(Conv {
        pad: pad.collect::<Option<_>>()?,
        ..conv.clone()
    })
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let producer = site.maker(site.operand(0)?).ok_or(NoMatch)?;
    let (Op::Conv(conv), Op::Pad(pad)) = (&site.node.op, &producer.node.op) else {
        return Err(NoMatch);
    };
    let operands = site.operands_with(Source::Old(producer.operand(0)?));
    if pad.mode != PadMode::Constant || pad.value != 0.0 {
        return refused(ReasonCode::PadMode, "the padding is not of zeros");
    }
    let text = "it crops, or pads the batch or channel axis";
    let conv = padded(conv, &pad.amounts).ok_or_else(|| Reason::new(ReasonCode::PadAxes, text))?;
    site.replaced_by(vec![NewNode::new(conv, &operands, &[site.id, producer.id])])
}
