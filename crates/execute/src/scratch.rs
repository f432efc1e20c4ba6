//! Estimates the bytes that a plan and its runs need for index lists of steps and for temporary memory. Only types are
//! needed for this. Values, constants and packed weights are not included.

use crate::executable::{Scratch, Types, WORD, count, executable, times};
use crate::float::reduce::runs;
use crate::reference::Primitive;
use smallvec::SmallVec;
use strait_core::op::Reduction;
use strait_core::{Elem, Node, Op, TensorType};

/// The bytes that the reference interpreter needs for an element of a result: for the exact number, for the value
/// before fused steps, and for the value after fused steps.
const EXACT: u64 = 32;

/// Estimates the bytes that a node needs besides its values. For a node with an addend, the estimate includes the
/// accumulators, the addends, and the codes from which the addends are computed.
pub(crate) fn scratch(
    node: &Node,
    operands: &[Option<&TensorType>],
    is_constant: impl Fn(usize) -> bool,
    results: &[&TensorType],
) -> Scratch {
    let own = operands.get(..node.own_inputs().len()).unwrap_or(operands);
    let product = alone(node, own, is_constant, results);
    let sums = node
        .addend()
        .and(results.first())
        .map_or(0, |y| times(count(y), 3 * WORD));
    Scratch {
        run: product.run.saturating_add(sums),
        ..product
    }
}

/// Like [`scratch`], but for a node without a fused addend.
fn alone(
    node: &Node,
    operands: &[Option<&TensorType>],
    is_constant: impl Fn(usize) -> bool,
    results: &[&TensorType],
) -> Scratch {
    let (Some(Some(x)), Some(&y)) = (operands.first(), results.first()) else {
        return Scratch::default();
    };
    // For an empty result, nothing runs.
    if results.iter().all(|ty| count(ty) == 0) {
        return Scratch::default();
    }
    if is_plain(node, operands, is_constant) {
        let read = operands.iter().flatten().map(|ty| times(count(ty), WORD));
        return Scratch::run(read.fold(times(count(y), EXACT), u64::saturating_add));
    }
    let types = Types {
        operands,
        results,
        fused: node.fused.is_some(),
        picks: node.picked_channels().is_some(),
    };
    executable(&node.op).scratch(x, y, &types)
}

/// Returns true if the reference interpreter may have to compute an integer primitive, because no fast loop supports
/// it; see [`crate::integer`]. If this is not certain, returns true.
fn is_plain(node: &Node, operands: &[Option<&TensorType>], is_constant: impl Fn(usize) -> bool) -> bool {
    let operand = |index: usize| operands.get(index).copied().flatten();
    let Some(x) = operand(0).filter(|x| x.elem.is_integer() && Primitive::is_defined(&node.op)) else {
        return false;
    };
    let codes = |index: usize| {
        let t = operand(index).and_then(|ty| ty.elem.int_type());
        t.is_some_and(|t| t.bits() <= 16)
    };
    let fixed = |index: usize| operand(index).is_none() || is_constant(index);
    let (fused, images) = (node.fused.is_some(), matches!(x.shape.len(), 3 | 4));
    let weights = codes(0) && codes(1) && is_constant(1) && fixed(2);
    match &node.op {
        Op::Conv(_) => !((images || x.shape.len() == 5) && weights),
        Op::Gemm(op) => {
            let columns = operand(1).and_then(|b| b.shape.get(usize::from(!op.transpose_b))?.fixed());
            let bias = operand(2).map(count);
            op.transpose_a || !weights || bias.is_some_and(|bias| bias != 1 && Some(bias) != columns)
        }
        Op::MatMul(_) | Op::Mul(_) => !(codes(0) && codes(1)),
        Op::Add(_) | Op::Sub(_) => codes(0) || operand(1).is_none_or(|other| other.elem != x.elem),
        Op::MaxPool(_) => fused || !((images || x.shape.len() == 5) && codes(0)),
        Op::AveragePool(_) => fused || !(images && codes(0)),
        Op::GlobalAveragePool(_) => fused || !codes(0),
        Op::SumPool(_) => !(images && codes(0) && fixed(1)),
        Op::Reduce(op) => {
            let dims: SmallVec<[usize; 4]> = x.shape.iter().map(|dim| dim.fixed().unwrap_or(1) as usize).collect();
            let calls = op.reduced(dims.len()).map(|reduced| runs(&dims, &reduced).len());
            op.reduction != Reduction::Sum || !codes(0) || calls != Ok(1)
        }
        Op::Lookup(_) | Op::Interpolate(_) => fused || !(codes(0) && is_constant(1)),
        Op::Clamp(_) => fused || x.elem == Elem::I64,
        Op::Requantize(_) => fused || !fixed(1),
        Op::ScaledAdd(_) => fused || operand(1).is_none_or(|other| other.shape != x.shape),
        Op::IntegerSoftmax(_) | Op::IntegerResize(_) | Op::ShiftLeft(_) => fused,
        _ => false,
    }
}
