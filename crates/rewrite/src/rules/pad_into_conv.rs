//! **Pattern**: a conv of a tensor that a pad node has padded with zeros along its spatial axes.
//! **Why**: a convolution can pad its operand at no cost.
//! **Preconditions**: the pad has constant mode and value 0. It crops nothing, and does not pad the batch or channel axis.
//! **Exactness**: exact, because the same products are added.

use crate::matching::GraphNode;
use strait_core::op::{Conv, PadMode};
use strait_core::{
    GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term,
};

/// The rule that folds a pad with zeros into the padding of the convolution behind it.
pub struct PadIntoConv;

/// The convolution with its padding increased by `amounts` (first the begins of all axes, then the ends). `None` if a
/// convolution does not support this padding.
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

impl Rule for PadIntoConv {
    fn name(&self) -> &'static str {
        "pad-into-conv"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Conv]
    }

    fn depth(&self) -> usize {
        2
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Op::Conv(conv), Some(x), Some(y)) = (&site.node.op, site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some(producer) = site.producer(x, Term::Pad) else {
            return Ok(Outcome::NoMatch);
        };
        let (Op::Pad(pad), Some(source)) = (&producer.node.op, producer.input(0)) else {
            return Ok(Outcome::NoMatch);
        };
        if pad.mode != PadMode::Constant || pad.value != 0.0 {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::PadMode,
                "the padding is not of zeros",
            )));
        }
        let Some(conv) = padded(conv, &pad.amounts) else {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::PadAxes,
                "it crops, or pads the batch or channel axis",
            )));
        };
        let mut operands: Vec<Option<Source>> = site.node.inputs.iter().map(|i| i.map(Source::Old)).collect();
        operands[0] = Some(Source::Old(source));
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(conv, &operands, &[at, producer.id])],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
