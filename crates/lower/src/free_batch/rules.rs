//! For each op, finds the axis along which the samples lie in its results.
//!
//! With n samples, the result must consist of the results of each single sample, one after the other along that axis.
//! An op for which this is not known is refused.

use super::{Samples, shapes};
use strait_core::op::{Gather, Reduce, Slice};
use strait_core::{Op, QuantParams, TensorType};

/// A node, with the types that it has for one sample.
pub(super) struct At<'a> {
    pub(super) op: &'a Op,
    /// The grids of operands and results.
    pub(super) grids: &'a [&'a QuantParams],
    pub(super) operands: &'a [Option<&'a TensorType>],
    pub(super) samples: &'a [Option<Samples>],
    pub(super) results: &'a [&'a TensorType],
    /// True if a reshape that would merge the batch with another axis may give the batch an extra axis instead
    /// ([`super::hidden`]).
    pub(super) hides: bool,
}

/// How a node changes for several samples.
pub(super) struct Rule {
    pub(super) op: Op,
    /// For each result, the axis of the samples.
    pub(super) results: Vec<Samples>,
    /// Operands without samples that have to be repeated for each sample: their position, and the axis.
    pub(super) repeated: Vec<(usize, usize)>,
    /// True if the results have an extra first axis for the batch, which they do not have for one sample.
    pub(super) is_hidden: bool,
    /// A permutation of the first operand's axes that has to come before the op. Empty if there is none.
    pub(super) turned: Vec<u32>,
}

/// A result, or the reason why there is none.
pub(super) type Ruled<T> = Result<T, String>;

pub(super) const MIXED: &str = "it computes along the batch";
pub(super) const UNKNOWN: &str = "nothing is known of it for several samples";

impl At<'_> {
    pub(super) fn rank(&self, position: usize) -> usize {
        self.operands
            .get(position)
            .copied()
            .flatten()
            .map_or(0, |ty| ty.shape.len())
    }

    /// The samples of the operand at this position. It is an error if it has none, or if another operand has some.
    pub(super) fn only(&self, position: usize) -> Ruled<Samples> {
        let others = self
            .samples
            .iter()
            .enumerate()
            .any(|(at, samples)| at != position && samples.is_some());
        match self.samples.get(position).copied().flatten() {
            Some(samples) if !others => Ok(samples),
            _ => Err(UNKNOWN.into()),
        }
    }

    /// The samples of the operands at these positions, which must agree. Other operands must have none.
    pub(super) fn alike(&self, positions: &[usize]) -> Ruled<Samples> {
        let has = |at: &usize| self.samples.get(*at).copied().flatten();
        let first = positions.iter().find_map(has).ok_or(UNKNOWN)?;
        let fits = |(at, samples): (usize, &Option<Samples>)| match self.operands.get(at) {
            Some(Some(_)) if positions.contains(&at) => *samples == Some(first),
            _ => samples.is_none(),
        };
        match self.samples.iter().enumerate().all(fits) {
            true => Ok(first),
            false => Err(UNKNOWN.into()),
        }
    }

    pub(super) fn extents(ty: &TensorType) -> Ruled<Vec<u64>> {
        ty.dims().map(|dims| dims.to_vec()).ok_or_else(|| UNKNOWN.into())
    }

    pub(super) fn result(&self) -> Ruled<&TensorType> {
        self.results.first().copied().ok_or_else(|| UNKNOWN.into())
    }

    /// The rule for an op that stays as it is and has the samples on the same axis in all results.
    pub(super) fn same(&self, samples: Samples) -> Ruled<Rule> {
        self.with(self.op.clone(), samples)
    }

    pub(super) fn with(&self, op: Op, samples: Samples) -> Ruled<Rule> {
        Ok(Rule {
            op,
            results: vec![samples; self.results.len()],
            repeated: Vec::new(),
            is_hidden: false,
            turned: Vec::new(),
        })
    }

    /// Like [`At::same`], but it is an error if the op computes along the axis of the samples.
    pub(super) fn beside(&self, samples: Samples, axis: i64) -> Ruled<Rule> {
        match position(axis, self.rank(0)) == Some(samples.axis) {
            true => Err(MIXED.into()),
            false => self.same(samples),
        }
    }

    /// The rule for an op that computes a separate result for each element of the first axis.
    pub(super) fn rows(&self) -> Ruled<Rule> {
        let samples = self.only(0)?;
        match samples.axis {
            0 => self.same(samples),
            _ => Err(MIXED.into()),
        }
    }
}

/// An axis as a position. Negative axes count from the end.
pub(super) fn position(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// How the node changes for several samples.
///
/// # Errors
/// A node that is not known to treat each sample alike.
pub(super) fn rule(at: &At<'_>) -> Ruled<Rule> {
    // True if a second operand gives a list that is an attribute otherwise, such as the shape of a reshape.
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

/// The rule for ops whose operands broadcast. Axes are counted from the last one.
pub(super) fn elementwise(at: &At<'_>) -> Ruled<Rule> {
    let rank = at.result()?.shape.len();
    let aligned = |position: usize, samples: Samples| Samples {
        axis: samples.axis + rank - at.rank(position).min(rank),
        ..samples
    };
    let with_samples =
        |(position, samples): (usize, &Option<Samples>)| samples.map(|samples| aligned(position, samples));
    let mut found = at.samples.iter().enumerate().filter_map(with_samples);
    let samples = found.next().ok_or(UNKNOWN)?;
    if found.any(|other| other != samples) {
        return Err("its operands have the batch along different axes".into());
    }
    for (position, operand) in at.operands.iter().enumerate() {
        let Some(operand) = operand.filter(|_| at.samples[position].is_none()) else {
            continue;
        };
        let extents = At::extents(operand)?;
        let own = (samples.axis + extents.len())
            .checked_sub(rank)
            .and_then(|axis| extents.get(axis));
        if own.is_some_and(|&own| own != 1) {
            return Err("a constant has elements of its own for parts of the batch".into());
        }
    }
    at.same(samples)
}

/// The error for a grid whose axis is the batch: it has scales for a fixed number of samples.
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
    match position(axis, at.rank(0)) {
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
    let axes: Vec<usize> = axes.iter().filter_map(|&axis| position(axis, at.rank(0))).collect();
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

/// The rule for Concat. Constants beside samples are repeated for each sample.
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

/// The rule for Slice. The slice must take all of the batch axis.
fn slice(at: &At<'_>, op: &Slice) -> Ruled<Rule> {
    let (samples, rank) = (at.only(0)?, at.rank(0));
    match op.axes.iter().any(|&axis| position(axis, rank) == Some(samples.axis)) {
        true => Err(MIXED.into()),
        false => at.same(samples),
    }
}

fn gather(at: &At<'_>, op: &Gather) -> Ruled<Rule> {
    let along = position(op.axis, at.rank(0)).ok_or(UNKNOWN)?;
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
