//! For each op, finds the axis along which the samples lie in its results.
//!
//! With n samples, the result of an op must consist of the n results that the op gives for each sample alone, one after
//! the other along this axis. An op for which this cannot be shown is refused.

use super::{Samples, shapes};
use crate::free_batch::node_rule::{At, MIXED, Rule, Ruled, UNKNOWN, elementwise};
use strait_core::Op;
use strait_core::op::{Gather, Reduce, Slice};
use strait_core::shape::axis_of;

/// How a node changes for several samples.
///
/// # Errors
/// The node cannot be shown to treat each sample alike.
pub(super) fn rule(at: &At<'_>) -> Ruled<Rule> {
    // True if there is a second operand. This operand contains a list that is usually an attribute, such as the shape
    // of a reshape.
    let is_late = at.operands.get(1).is_some_and(Option::is_some);
    match at.op {
        Op::Relu(_) | Op::Clip(_) | Op::LeakyRelu(_) | Op::HardSigmoid(_) | Op::Elu(_) | Op::Unary(_) => {
            elementwise(at)
        }
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Pow(_) | Op::Binary(_) | Op::Compare(_) => {
            elementwise(at)
        }
        Op::Select(_) | Op::Cast(_) | Op::BitCast(_) | Op::Identity(_) | Op::RoundTo(_) => elementwise(at),
        Op::Quantize(_) | Op::Dequantize(_) => grid(at),
        // The second operand is the table.
        Op::Lookup(_) => at.same(at.only(0)?),
        Op::Conv(_) | Op::ConvTranspose(_) | Op::BatchNormalization(_) | Op::Col2Im(_) => at.rows(),
        Op::MaxPool(_) | Op::AveragePool(_) | Op::GlobalAveragePool(_) => at.rows(),
        Op::GridSample(_) => match at.alike(&[0, 1])? {
            samples if samples.axis == 0 => at.same(samples),
            _ => Err(MIXED.into()),
        },
        Op::Gemm(op) => {
            let samples = at.only(0)?;
            match op.transpose_a || samples.axis + 1 >= at.rank(0) {
                true => Err(MIXED.into()),
                false => at.same(samples),
            }
        }
        Op::MatMul(_) => matmul(at),
        Op::LayerNormalization(op) => normalization(at, op.axis),
        Op::RmsNormalization(op) => normalization(at, op.axis),
        Op::Softmax(op) => at.beside(at.only(0)?, op.axis),
        Op::Cumulative(op) => at.beside(at.only(0)?, op.axis),
        Op::TopK(op) => at.beside(at.only(0)?, op.axis),
        Op::ArgReduce(op) => reduced(at, &[op.axis], op.keep_dims),
        Op::Reduce(op) => reduce(at, op),
        Op::Reshape(_) if !is_late => shapes::reshape(at),
        Op::Flatten(_) => shapes::flatten(at),
        Op::Squeeze(op) => shapes::squeeze(at, &op.axes),
        Op::Unsqueeze(op) => shapes::unsqueeze(at, &op.axes),
        Op::Transpose(op) => {
            let samples = at.only(0)?;
            let axis = op.permutation.iter().position(|&axis| axis as usize == samples.axis);
            let axis = axis.ok_or(UNKNOWN)?;
            at.same(Samples { axis, ..samples })
        }
        Op::Concat(op) => concat(at, op.axis),
        Op::Split(op) => at.beside(at.only(0)?, op.axis),
        Op::Slice(op) => slice(at, op),
        Op::Pad(op) if !is_late => {
            let (samples, rank) = (at.only(0)?, at.rank(0));
            let amounts = [samples.axis, samples.axis + rank].map(|end| op.amounts.get(end).copied());
            match amounts == [Some(0); 2] {
                true => at.same(samples),
                false => Err(MIXED.into()),
            }
        }
        Op::Gather(op) => gather(at, op),
        Op::GatherElements(op) => at.beside(at.alike(&[0, 1])?, op.axis),
        Op::GatherNd(op) => match at.alike(&[0, 1])? {
            samples if samples.axis < op.batch as usize => at.same(samples),
            _ => Err(MIXED.into()),
        },
        Op::Expand(op) if !is_late => shapes::expand(at, &op.shape),
        Op::Resize(op) if !is_late => shapes::resize(at, op),
        Op::Recurrent(_) => recurrent(at),
        _ => Err(UNKNOWN.into()),
    }
}

/// The rule for an op that converts to or from a grid. It is an error if the grid has one scale for each index of the
/// batch axis, because these scales are for a fixed number of samples.
fn grid(at: &At<'_>) -> Ruled<Rule> {
    let samples = at.only(0)?;
    let mut axes = at.grids.iter().filter_map(|grid| grid.axis).map(usize::from);
    match axes.any(|axis| axis == samples.axis) {
        true => Err("its grid has a scale for each element of the batch".into()),
        false => at.same(samples),
    }
}

fn normalization(at: &At<'_>, axis: i64) -> Ruled<Rule> {
    let samples = at.only(0)?;
    match axis_of(axis, at.rank(0)) {
        Some(axis) if samples.axis < axis => elementwise(at),
        _ => Err(MIXED.into()),
    }
}

fn matmul(at: &At<'_>) -> Ruled<Rule> {
    let rank = at.result()?.shape.len();
    let ranks = [at.rank(0), at.rank(1)];
    if ranks.iter().any(|&rank| rank < 2) {
        return Err(UNKNOWN.into());
    }
    let lead = |position: usize, samples: Samples| {
        (samples.axis + 2 < ranks[position]).then(|| samples.axis + rank - ranks[position])
    };
    match [0, 1].map(|position| at.samples.get(position).copied().flatten()) {
        // The samples are rows of the first operand, or columns of the second.
        [Some(samples), None] if samples.axis + 2 == ranks[0] => at.same(Samples {
            axis: rank - 2,
            ..samples
        }),
        [None, Some(samples)] if samples.axis + 1 == ranks[1] => at.same(Samples {
            axis: rank - 1,
            ..samples
        }),
        [Some(a), Some(b)] if lead(0, a).is_some() && lead(0, a) == lead(1, b) && a.each == b.each => elementwise(at),
        [Some(samples), None] if lead(0, samples).is_some() => elementwise(at),
        [None, Some(samples)] if lead(1, samples).is_some() => elementwise(at),
        _ => Err(MIXED.into()),
    }
}

fn reduce(at: &At<'_>, op: &Reduce) -> Ruled<Rule> {
    match op.axes.is_empty() {
        true => Err(MIXED.into()),
        false => reduced(at, &op.axes, op.keep_dims),
    }
}

fn reduced(at: &At<'_>, axes: &[i64], keeps: bool) -> Ruled<Rule> {
    let samples = at.only(0)?;
    let axes: Vec<usize> = axes.iter().filter_map(|&axis| axis_of(axis, at.rank(0))).collect();
    if axes.contains(&samples.axis) {
        return Err(MIXED.into());
    }
    let gone = if keeps {
        0
    } else {
        axes.iter().filter(|&&axis| axis < samples.axis).count()
    };
    at.same(Samples {
        axis: samples.axis - gone,
        ..samples
    })
}

/// The rule for Concat. Constants that are joined with samples are repeated for each sample.
fn concat(at: &At<'_>, axis: i64) -> Ruled<Rule> {
    let samples = at.samples.iter().copied().flatten().next().ok_or(UNKNOWN)?;
    if at.samples.iter().flatten().any(|other| *other != samples) {
        return Err("its operands have the batch along different axes".into());
    }
    let constants: Vec<usize> = (0..at.samples.len())
        .filter(|&position| at.samples[position].is_none())
        .collect();
    if samples.each != 1 && !constants.is_empty() {
        return Err("a constant has elements of its own for parts of the batch".into());
    }
    let mut rule = at.beside(samples, axis)?;
    rule.repeated = constants.into_iter().map(|position| (position, samples.axis)).collect();
    Ok(rule)
}

/// The rule for Slice. The slice must keep the whole batch axis.
fn slice(at: &At<'_>, op: &Slice) -> Ruled<Rule> {
    let (samples, rank) = (at.only(0)?, at.rank(0));
    match op.axes.iter().any(|&axis| axis_of(axis, rank) == Some(samples.axis)) {
        true => Err(MIXED.into()),
        false => at.same(samples),
    }
}

fn gather(at: &At<'_>, op: &Gather) -> Ruled<Rule> {
    let along = axis_of(op.axis, at.rank(0)).ok_or(UNKNOWN)?;
    match [0, 1].map(|position| at.samples.get(position).copied().flatten()) {
        [None, Some(samples)] => at.same(Samples {
            axis: along + samples.axis,
            ..samples
        }),
        [Some(samples), None] if samples.axis < along => at.same(samples),
        [Some(samples), None] if samples.axis > along => {
            let axis = samples.axis + at.rank(1) - 1;
            at.same(Samples { axis, ..samples })
        }
        _ => Err(MIXED.into()),
    }
}

/// The rule for recurrent ops. The samples lie along the second axis of the operand and of the states, and along the
/// third axis of the output with all states.
fn recurrent(at: &At<'_>) -> Ruled<Rule> {
    const LENGTHS: usize = 2;
    const STATES: [usize; 2] = [3, 4];
    let one = |axis: usize| Samples { axis, each: 1 };
    let place = |position: usize| match position {
        0 => Some(one(1)),
        LENGTHS => Some(one(0)),
        _ if STATES.contains(&position) => Some(one(1)),
        _ => None,
    };
    let mut repeated = Vec::new();
    for (position, samples) in at.samples.iter().enumerate() {
        match (samples, place(position)) {
            (None, Some(place)) if at.operands[position].is_some() => repeated.push((position, place.axis)),
            (None, _) => {}
            (Some(samples), Some(place)) if *samples == place => {}
            _ => return Err(MIXED.into()),
        }
    }
    Ok(Rule {
        op: at.op.clone(),
        results: (0..at.results.len())
            .map(|result| one(if result == 0 { 2 } else { 1 }))
            .collect(),
        repeated,
        is_hidden: false,
        turned: Vec::new(),
    })
}
