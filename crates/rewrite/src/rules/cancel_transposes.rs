//! **Pattern**: transposes around nodes that can just as well be computed on permuted axes. These nodes are elementwise
//! functions and operations, concat, split, slice, pad, reductions, and reshapes that only insert or remove axes of extent
//! 1.
//! **Why**: in TensorFlow and TFLite the channels are the last axis (NHWC), and in Strait they are axis 1 (NCHW). A model
//! from TensorFlow or TFLite therefore has a transpose before each convolution and another one after it. Between two
//! convolutions, these transposes cancel each other. The nodes that were between the two transposes then directly follow the
//! first convolution and can be fused into it.
//! **Preconditions**: after the rewrite, the graph has fewer transposes that move elements, or equally many that together
//! move fewer elements. The rule also applies if a transpose is the only reader of a conv, transposed conv, gemm or matmul,
//! and is followed by a function or by an operation with a constant: the function or operation is then moved before the
//! transpose. A mean over the last axis is not changed, because other rules recognise normalizations by such means.
//! **Exactness**: exact, except that a sum over several axes adds its terms in another order.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::permute::{Permutation, inverse, moves};
use crate::region::Region;
use crate::rule::NodeRule;
use strait_core::rule::EVERYWHERE;
use strait_core::{Kind, NodeId, Op, Patch, Term, ValueId};

/// The rule that moves transposes past other nodes until two transposes cancel.
pub const RULE: NodeRule = NodeRule {
    name: "cancel-transposes",
    anchors: || vec![Term::Transpose],
    depth: || EVERYWHERE,
    is_fusion: false,
    look,
};

/// The largest number of nodes that are moved before a transpose at once. Further nodes are moved later.
const MOST_IN_FRONT: usize = 16;

/// Makes the patch that moves functions and operations with constants from behind a transpose to before it. The
/// transpose must read the result of a convolution or matrix product. All these functions and operations are moved at
/// once, because a multiplication and an addition with constants can together form a normalization.
fn in_front(site: GraphNode<'_>, x: ValueId, y: ValueId, back: &Permutation) -> Option<Patch> {
    let (_, sum) = site.graph.producer(x)?;
    let sums = matches!(sum.op, Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::MatMul(_));
    (sums && site.used_once(x)).then_some(())?;
    let (mut chain, mut value) = (Vec::new(), y);
    while let Some((id, result)) = behind(&site, value).filter(|_| chain.len() < MOST_IN_FRONT) {
        chain.push(id);
        value = result;
    }
    // Another rule removes the identity, and the node after the identity may belong to the chain too.
    let next = site.only_reader(value);
    if next.is_some_and(|next| matches!(next.node.op, Op::Identity(_))) {
        return None;
    }
    let region = Region::of_chain(site, &chain, back);
    let (patch, saved, added) = region.patch()?;
    (added <= saved).then_some(patch)
}

/// Returns the only reader of a value, and the reader's result. Returns `None` unless this reader is a function or an
/// operation with a constant.
fn behind(site: &GraphNode<'_>, value: ValueId) -> Option<(NodeId, ValueId)> {
    let reader = site.only_reader(value)?;
    let op = &reader.node.op;
    let is_elementwise =
        op.term().kind() == Kind::Function || matches!(op, Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_));
    let mut others = reader.node.inputs.iter().flatten().filter(|&&operand| operand != value);
    let are_constants = others.all(|&operand| site.graph.data_of(operand).is_some());
    let fits = is_elementwise && are_constants && reader.keeps_type(value);
    reader.output().filter(|_| fits).map(|result| (reader.id, result))
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (Op::Transpose(transpose), x, y) = (&site.node.op, site.operand(0)?, site.result()?) else {
        return Err(NoMatch);
    };
    let p = &transpose.permutation;
    let shape = site.graph.value(x).map_or(&[][..], |value| &value.ty.shape);
    if site.graph.data_of(x).is_some() || !moves(shape, p) {
        return Err(NoMatch);
    }
    let back = inverse(p);
    for region in [
        Region::around(*site, y, back.clone()),
        Region::around(*site, x, p.clone()),
    ] {
        if let Some((patch, saved, added)) = region.patch()
            && added < saved
        {
            return Ok(patch);
        }
    }
    in_front(*site, x, y, &back).ok_or(NoMatch)
}
