//! Gives values an extra first axis for the batch, in front of the axes that they have for one sample.
//!
//! Rewrite rules merge reshapes and transposes of one sample into a single reshape, such as `[1,32,128]` to
//! `[32,4,32]`. The result of such a reshape has no axis for the batch. With an extra axis in front, the ops after the
//! reshape compute the same for each sample. A later reshape, whose result has an axis for the batch again, removes the
//! extra axis.

use super::Samples;
use super::rules::rule;
use crate::free_batch::node_rule::{At, MIXED, Rule, Ruled, UNKNOWN};
use smallvec::SmallVec;
use strait_core::op::Reshape;
use strait_core::shape::axis_of;
use strait_core::{Dim, Op, TensorType};

/// The type of a value for one sample, with an extra axis in front for the batch.
pub(super) fn lifted_type(ty: &TensorType) -> TensorType {
    let mut ty = ty.clone();
    ty.shape.insert(0, Dim::Fixed(1));
    ty
}

/// Returns how a node changes if its operands have the extra axis in front. Operands that do not depend on samples do
/// not have this axis. If the node is a reshape and its result has an axis for the batch, the reshape removes the extra
/// axis.
pub(super) fn behind(
    op: &Op,
    operands: &[Option<&TensorType>],
    samples: &[Option<Samples>],
    results: &[&TensorType],
) -> Ruled<Rule> {
    let first = Samples { axis: 0, each: 1 };
    let result = *results.first().ok_or(UNKNOWN)?;
    if matches!(op, Op::Reshape(_)) && operands.len() == 1 {
        let mut shape: SmallVec<[i64; 4]> = At::extents(result)?.iter().map(|&extent| extent as i64).collect();
        let is_hidden = shape.first() != Some(&1);
        match shape.first_mut().filter(|_| !is_hidden) {
            Some(batch) => *batch = -1,
            None => shape.insert(0, -1),
        }
        return Ok(Rule {
            op: Reshape { shape }.into(),
            results: vec![first],
            repeated: Vec::new(),
            is_hidden,
            turned: Vec::new(),
        });
    }
    let rank = operands.first().copied().flatten().map_or(0, |ty| ty.shape.len());
    let op = lifted(op, [rank, result.shape.len()])?;
    let types: Vec<Option<TensorType>> = (operands.iter().zip(samples))
        .map(|(ty, samples)| ty.map(|ty| if samples.is_some() { lifted_type(ty) } else { ty.clone() }))
        .collect();
    let made: Vec<TensorType> = results.iter().map(|ty| lifted_type(ty)).collect();
    let mut rule = rule(&At {
        op: &op,
        grids: &[],
        operands: &types.iter().map(Option::as_ref).collect::<Vec<_>>(),
        samples,
        results: &made.iter().collect::<Vec<_>>(),
        hides: false,
    })?;
    if rule.results.iter().any(|samples| *samples != first) {
        return Err(MIXED.into());
    }
    rule.is_hidden = true;
    Ok(rule)
}

/// Changes the op for operands that have one more axis in front. `ranks` are the ranks of the first operand and of the
/// result without that axis.
///
/// # Errors
/// This module does not know how to change this op.
fn lifted(op: &Op, ranks: [usize; 2]) -> Ruled<Op> {
    let mut op = op.clone();
    let behind = |axis: &mut i64, rank: usize| match axis_of(*axis, rank) {
        Some(at) => *axis = at as i64 + 1,
        None => *axis += rank as i64 + 1,
    };
    let [own, made] = ranks;
    match &mut op {
        Op::Relu(_) | Op::Clip(_) | Op::LeakyRelu(_) | Op::HardSigmoid(_) | Op::Elu(_) | Op::Unary(_) | Op::Add(_) => {}
        Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Pow(_) | Op::Binary(_) | Op::Compare(_) | Op::Select(_) => {}
        Op::Cast(_) | Op::Identity(_) | Op::RoundTo(_) | Op::Quantize(_) | Op::Dequantize(_) | Op::MatMul(_) => {}
        Op::Lookup(_) => {}
        Op::Transpose(op) => {
            op.permutation.iter_mut().for_each(|axis| *axis += 1);
            op.permutation.insert(0, 0);
        }
        Op::Softmax(op) => behind(&mut op.axis, own),
        Op::LayerNormalization(op) => behind(&mut op.axis, own),
        Op::RmsNormalization(op) => behind(&mut op.axis, own),
        Op::Split(op) => behind(&mut op.axis, own),
        Op::Gather(op) => behind(&mut op.axis, own),
        Op::Slice(op) => op.axes.iter_mut().for_each(|axis| behind(axis, own)),
        Op::Squeeze(op) if !op.axes.is_empty() => op.axes.iter_mut().for_each(|axis| behind(axis, own)),
        Op::Unsqueeze(op) => op.axes.iter_mut().for_each(|axis| behind(axis, made)),
        Op::Reduce(op) if !op.axes.is_empty() => op.axes.iter_mut().for_each(|axis| behind(axis, own)),
        _ => return Err(UNKNOWN.into()),
    }
    Ok(op)
}
