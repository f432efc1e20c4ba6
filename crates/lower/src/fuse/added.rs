//! Recognises an addition that adds codes to the accumulators of a product (a node such as `conv`). A table row with a
//! second op fuses the product and the addition into one node, which has the added codes as one more operand.

use strait_core::{Addend, Carrier, Graph, Node, NodeId, Op, ValueId};
use strait_requantize::IntType;

/// A product, and the codes that are added to its sums.
pub(super) struct Added<'a> {
    /// The node of the product, a convolution or Gemm.
    pub(super) id: NodeId,
    pub(super) product: &'a Node,
    /// The codes that are added.
    pub(super) codes: ValueId,
    pub(super) addend: Addend,
    /// The nodes that requantize the added codes to the grid of the sums.
    pub(super) between: Vec<NodeId>,
}

impl<'a> Added<'a> {
    /// Recognises a node that adds codes to the accumulators of a product (a node such as `conv`). No other node may
    /// read these accumulators or the added codes.
    pub(super) fn of(graph: &'a Graph, node: &'a Node) -> Option<Added<'a>> {
        let &[Some(a), Some(b)] = matches!(node.op, Op::Add(_)).then_some(&node.inputs[..])? else {
            return None;
        };
        [(a, b), (b, a)].into_iter().find_map(|(sum, other)| {
            let only = |value: ValueId| graph.producer(value).filter(|_| graph.only_use(value).is_some());
            let (id, product) = only(sum)?;
            let products = matches!(product.op, Op::Conv(_) | Op::Gemm(_)) && product.fused.is_none();
            let (at, last) = only(other)?;
            let Op::Requantize(op) = &last.op else { return None };
            let rank = graph.value(sum)?.ty.shape.len();
            let along = op.form.channels().is_none() || product.op.channel_axis(rank) == Some(op.axis as usize);
            let plain = last.fused.is_none() && last.picked_channels().is_none();
            if !(products && plain && along && op.form.out() == IntType::I32) {
                return None;
            }
            let (mut codes, mut zero, mut between) = (last.input(0)?, 0, vec![at]);
            if let Some((at, centre)) = only(codes)
                && let Op::ShiftLeft(op) = &centre.op
                && (op.bits, op.accumulator, &centre.fused) == (0, Carrier::I32, &None)
            {
                (codes, zero) = (centre.input(0)?, op.zero);
                between.push(at);
            }
            let found = graph.value(codes)?;
            let fits = found.ty.elem.int_type().is_some_and(|ty| ty.bits() <= 16);
            (fits && found.ty.shape == graph.value(sum)?.ty.shape).then(|| Added {
                id,
                product,
                codes,
                addend: Addend {
                    zero,
                    form: op.form.clone(),
                },
                between,
            })
        })
    }
}
