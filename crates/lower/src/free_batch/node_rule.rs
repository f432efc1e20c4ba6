//! A node of the graph for one sample, and the node that replaces it for several samples.

use super::Samples;
use strait_core::shape::axis_of;
use strait_core::{Op, QuantParams, TensorType};

/// A node, with the types that its operands and results have for one sample.
pub(super) struct At<'a> {
    pub(super) op: &'a Op,
    /// The grids of operands and results.
    pub(super) grids: &'a [&'a QuantParams],
    pub(super) operands: &'a [Option<&'a TensorType>],
    pub(super) samples: &'a [Option<Samples>],
    pub(super) results: &'a [&'a TensorType],
    /// True if a reshape may give the batch an extra axis instead of merging it with another axis ([`super::hidden`]).
    pub(super) hides: bool,
}

/// How a node changes for several samples.
pub(super) struct Rule {
    pub(super) op: Op,
    /// For each result, the axis of the samples.
    pub(super) results: Vec<Samples>,
    /// The operands that do not depend on samples but have to be repeated for each sample. Each entry has the index of
    /// the operand, and the axis along which it is repeated.
    pub(super) repeated: Vec<(usize, usize)>,
    /// True if the results have an extra first axis for the batch, which they do not have for one sample.
    pub(super) is_hidden: bool,
    /// A permutation of the first operand's axes. A transpose with this permutation is inserted before the op. Empty if
    /// no transpose is needed.
    pub(super) turned: Vec<u32>,
}

/// A result, or the reason why there is no result.
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

    /// Returns how the samples lie in the operand at `position`. It is an error if this operand does not depend on
    /// samples, or if another operand also depends on samples.
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

    /// Returns how the samples lie in the operands at these positions. It is an error if the samples lie differently in
    /// two of these operands, or if another operand also depends on samples.
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

    /// The rule for an op that does not change, and whose results all have the samples on the same axis.
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

    /// Like [`At::same`], but with an error if the op computes along the axis of the samples.
    pub(super) fn beside(&self, samples: Samples, axis: i64) -> Ruled<Rule> {
        match axis_of(axis, self.rank(0)) == Some(samples.axis) {
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

/// The rule for elementwise ops, whose operands broadcast. Operands may have different ranks, so the axes along which
/// their samples lie are counted from the last axis when they are compared.
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
