//! Computes the smallest scales that the weights of a node may have, and the scales that they get.

use super::least::{FINEST, LeastScales, NEGLIGIBLE, bias_limit, negligible};
use crate::annotate::settings::{Annotation, Unfit};
use crate::annotate::state::Raised;
use crate::observers::{GridKind, ObserverChoice};
use crate::statistics::Statistics;
use std::borrow::Cow;
use strait_core::{
    Granularity, Graph, Node, NodeId, Port, QuantParams, QuantTable, Reason, ReasonCode, Scheme, ValueId, refused,
};
use strait_requantize::scales::power_of_two::folded_shift;
use strait_requantize::scales::{next_power_of_two, zero_of};
use strait_requantize::{IntType, Per};
use strait_target::spec::{Observer, WeightGrid};

/// A product, with everything on which the grid of its weights depends.
pub(crate) struct Product<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) how: &'a Annotation<'a>,
    pub(crate) table: &'a QuantTable,
    pub(crate) id: NodeId,
    pub(crate) node: &'a Node,
    /// The scheme of the weights.
    pub(crate) scheme: Scheme,
    pub(crate) weight_grid: WeightGrid,
    /// The elements of the weights, channel by channel. `bias` has the elements of the bias.
    pub(crate) values: Cow<'a, [f32]>,
    pub(crate) bias: Cow<'a, [f32]>,
    pub(crate) channels: usize,
    pub(crate) x_scale: f64,
    /// The scale of the result, if it has codes.
    pub(crate) y_scale: Option<f64>,
}

/// The scales of weights: one for each channel, or one for the whole tensor.
pub(crate) enum Scales {
    Are(Vec<f32>),
    /// See [`Weights::Coarsen`].
    Coarsen(f64),
}

impl Product<'_> {
    fn per_channel(&self) -> bool {
        matches!(self.scheme.policy().per(), Granularity::Channel { .. })
    }

    /// The smallest scale of weights with which the scale of the accumulators is an f32 of full precision.
    fn finest(&self) -> f64 {
        FINEST / self.x_scale
    }

    /// The range that the codes of each channel have to cover.
    pub(crate) fn ends(&self) -> Result<Vec<(f64, f64)>, Reason> {
        let observer = self.how.settings.weight_observer(self.id);
        let mut ends = reach(&self.values, self.channels, &observer, self.scheme)?;
        if !self.per_channel() {
            let all = ends.iter().fold((0.0, 0.0), |all: (f64, f64), ends| {
                (all.0.min(ends.0), all.1.max(ends.1))
            });
            ends.fill(all);
        }
        Ok(ends)
    }

    /// Returns, for each channel, the smallest scales that its weights may have. `accumulator` is the number of bits of
    /// the accumulators, if the op's row states it.
    pub(crate) fn least(&self, ends: &[(f64, f64)], accumulator: Option<u8>) -> Vec<LeastScales> {
        let negligible = self.negligible(accumulator);
        let added = added_scale(self.graph, self.how, self.table, self.node);
        let limit = bias_limit(self.table.scheme_of(self.id, Port::Operand(2)));
        let least = ends.iter().enumerate().map(|(c, &ends)| LeastScales {
            range: least_scale(self.scheme, ends),
            bias: f64::from(self.bias.get(c).copied().unwrap_or(0.0)).abs() / (limit * self.x_scale),
            negligible: (self.y_scale)
                .map_or(0.0, |y| negligible * y / self.x_scale)
                .max(added / self.x_scale),
        });
        let mut least: Vec<LeastScales> = least.collect();
        let ties = self.how.settings.weight_ties(self.id);
        if let Some(ties) = ties.filter(|_| self.per_channel()) {
            for tied in least.chunks_mut(ties) {
                let all = tied.iter().copied().reduce(LeastScales::and);
                tied.fill(all.unwrap_or(LeastScales::NOTHING));
            }
        }
        least
    }

    /// The smallest useful scale of the weights. Below it, a smaller scale no longer makes the result more accurate.
    fn negligible(&self, accumulator: Option<u8>) -> f64 {
        let result = self.table.scheme_of(self.id, Port::Result(0));
        let result = result.filter(|scheme| !scheme.is_of_sums());
        match result.and_then(Scheme::int_type) {
            Some(result) if self.weight_grid.leaves_a_shift() => {
                let reads = self
                    .table
                    .scheme_of(self.id, Port::Operand(0))
                    .and_then(Scheme::int_type);
                let sums = reads.and_then(|t| self.how.spec.accumulator.get(&t.into()));
                let bits = accumulator.or(sums.map(|sums| sums.bits)).unwrap_or(32);
                negligible(bits, result.bits())
            }
            _ => NEGLIGIBLE,
        }
    }

    /// Finds the channels whose scale has to be larger than their weights need. Returns the one whose scale is raised
    /// the most.
    pub(crate) fn raised(&self, least: &[LeastScales]) -> Result<Option<Raised>, Reason> {
        let unfit = least.iter().enumerate().filter_map(|(channel, least)| {
            let (factor, reason) = least.unfit(channel, self.finest())?;
            Some((channel, factor, reason))
        });
        // If all products of a channel together are too small to change the last bit of its bias in f32, it does not
        // matter that its weights lose accuracy.
        let each = self.values.len() / self.channels.max(1);
        let [low, high] = (self.table.scheme_of(self.id, Port::Operand(0)))
            .and_then(|scheme| scheme.range())
            .unwrap_or_default();
        let is_seen = |channel: usize| {
            let weights = self.values.iter().skip(channel * each).take(each);
            let products = weights.map(|&w| f64::from(w.abs())).sum::<f64>() * self.x_scale * (high - low) as f64;
            products > f64::from(f32::EPSILON / 2.0) * f64::from(self.bias.get(channel).copied().unwrap_or(0.0)).abs()
        };
        let is_raised = self.how.settings.unfit(self.id) == Unfit::Coarser;
        let seen: Vec<_> = unfit.filter(|&(channel, ..)| !is_raised || is_seen(channel)).collect();
        let Some((channel, factor, reason)) = seen.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Ok(None);
        };
        if !is_raised {
            return Err(reason.clone());
        }
        Ok(Some(Raised {
            node: self.id,
            weights: self.node.input(1).unwrap_or(ValueId::new(0)),
            channel: *channel,
            factor: *factor,
            channels: seen.len(),
            reason: reason.clone(),
        }))
    }

    /// The scales that the weights get: one for each channel, or one for the whole tensor.
    pub(crate) fn scales(&self, channels: &[LeastScales]) -> Result<Scales, Reason> {
        let least = channels.iter().map(|channel| channel.least());
        let largest = least.clone().fold(0.0, f64::max);
        // A channel needs no scale if its weights are zero and its accumulator is not requantized. Such a channel takes
        // the tensor's scale. If no channel needs a scale, the scale is 1.
        let fallback = if largest > 0.0 { largest } else { 1.0 };
        let own = |least: f64| if least > 0.0 { least } else { fallback }.max(self.finest());
        let least: Vec<f64> = match self.per_channel() {
            true => least.map(own).collect(),
            false => vec![own(fallback)],
        };
        let powers = self.scheme.policy().has_powers_of_two();
        let (mut scales, mut coarsen) = (Vec::with_capacity(least.len()), 1.0f64);
        for least in least {
            let scale = match self.y_scale {
                Some(y) if self.weight_grid.leaves_a_shift() => {
                    match folded_shift(self.x_scale as f32, least as f32, y as f32) {
                        Ok((_, scale)) => scale,
                        Err(error) => {
                            // This quotient is exact, like the comparison by which `folded_shift` found that no shift
                            // leads to the result's grid. If operand and result share a grid, a coarser grid would not
                            // help.
                            let excess = self.x_scale * f64::from(least as f32) / y;
                            if !(excess > 1.0 && excess.is_finite()) || shares_grid(self.table, self.id) {
                                return refused(ReasonCode::NoShift, error.to_string());
                            }
                            coarsen = coarsen.max(next_power_of_two(excess).max(2.0));
                            continue;
                        }
                    }
                }
                // The smallest power of two that is not below `least`. If the target only shifts and the scales of
                // operand and result are powers of two, `least` already is a power of two.
                _ if powers => next_power_of_two(least),
                _ => least,
            };
            scales.push(scale as f32);
        }
        Ok(match coarsen > 1.0 {
            true => Scales::Coarsen(coarsen),
            false => Scales::Are(scales),
        })
    }

    /// Checks that at least one accumulator can differ from 0. On the grid with the scale s_x·s_w, an accumulator of
    /// less than half a step is rounded to 0. If this happens in every channel, even for the largest number in the
    /// samples, the layer computes nothing.
    pub(crate) fn leaves_something(&self, scales: &[f32], seen: Option<&Statistics>) -> Result<(), Reason> {
        let seen = seen.and_then(|seen| Some(seen.min()?.abs().max(seen.max()?.abs())));
        let Some(largest) = seen.map(f64::from).filter(|&largest| largest > 0.0) else {
            return Ok(());
        };
        // If the result has codes, coarse accumulators are allowed. The codes still show at least the sign of an
        // accumulator. If no form can requantize the accumulators, the result gets a coarser grid. But if one step of
        // the accumulators is more than a million times as large as every number in the samples, not even the sign
        // means anything.
        let steps = if self.y_scale.is_some() {
            f64::from(1 << 20)
        } else {
            2.0
        };
        let finest = scales.iter().fold(f64::INFINITY, |finest, &s| finest.min(s.into())) * self.x_scale;
        if finest <= steps * largest || scales.is_empty() {
            return Ok(());
        }
        let text = format!(
            "nothing would be left of its results: one step of its accumulator is {finest:e}, and the largest number that it was seen to \
             compute is {largest:e}"
        );
        refused(ReasonCode::SumStep, text)
    }

    /// The grid of the weights with the given scales.
    pub(crate) fn grid(&self, scales: Vec<f32>, ends: &[(f64, f64)]) -> Result<QuantParams, Reason> {
        let (per_channel, symmetric) = (self.per_channel(), self.scheme.policy().is_symmetric());
        let accumulates = |s: f32| (s * self.x_scale as f32).is_normal();
        if let Some(channel) = scales.iter().position(|&s| !s.is_normal() || !accumulates(s)) {
            let whose = match per_channel {
                true => format!(" of channel {channel}"),
                false => String::new(),
            };
            let text = format!("its weights{whose} are too large or too small for a scale in f32");
            return refused(ReasonCode::WeightScale, text);
        }
        let zero = |(&scale, &(low, _)): (&f32, &(f64, f64))| zero_of(low, scale.into(), codes(self.scheme));
        let mut zeros = scales.iter().zip(ends).map(zero);
        let zero_point = match (symmetric, per_channel) {
            (true, _) => Per::Tensor(0),
            (false, true) => zeros.collect(),
            (false, false) => Per::Tensor(zeros.next().unwrap_or(0)),
        };
        Ok(QuantParams {
            zero_point,
            ..match per_channel {
                true => QuantParams::channel(scales.into(), 0),
                false => QuantParams::tensor(scales[0], 0),
            }
        })
    }
}

/// Returns the smallest step that the accumulator of a node may have if codes are added to it. Returns 0 if no codes
/// are added there. For codes of 8 bits, the step is 2^−20 of the step of these codes. An added code is then at most
/// 2^8·2^20 = 2^28 in the accumulator, an eighth of the range of i32. If the codes have more bits, the step is larger,
/// so that this bound still holds. The step is also at least 2^−22 of the step of the result.
fn added_scale(graph: &Graph, how: &Annotation<'_>, table: &QuantTable, node: &Node) -> f64 {
    let reader = node.outputs.first().and_then(|&y| graph.only_use(y));
    let sum = reader.filter(|at| how.roles().summed(graph, at.node) == Some(at.operand.into()));
    let Some(id) = sum.map(|at| (at.node, Port::Operand(1 - usize::from(at.operand)))) else {
        return 0.0;
    };
    let scale = |port| Some(f64::from(table.params_of(id.0, port)?.as_tensor()?.0));
    let bits = table.scheme_of(id.0, id.1).and_then(Scheme::int_type);
    let bits = 28 - i32::from(bits.map_or(8, IntType::bits));
    let codes = scale(id.1).map_or(0.0, |scale| scale * f64::from(-bits).exp2());
    codes.max(result_scale(table, id.0).map_or(0.0, |y| y * NEGLIGIBLE))
}

/// The scale of the first result, if it has codes.
pub(crate) fn result_scale(table: &QuantTable, id: NodeId) -> Option<f64> {
    let codes = |scheme: Scheme| !scheme.is_of_sums();
    table.scheme_of(id, Port::Result(0)).filter(|&scheme| codes(scheme))?;
    Some(f64::from(table.params_of(id, Port::Result(0))?.as_tensor()?.0))
}

/// True if operand and result of a node are on the same grid.
fn shares_grid(table: &QuantTable, id: NodeId) -> bool {
    let root = |port| table.id(id, port).map(|config| table.root(config));
    root(Port::Operand(0)) == root(Port::Result(0))
}

/// The first and the last code of a scheme of weights.
pub(crate) fn codes(scheme: Scheme) -> [f64; 2] {
    scheme.range().unwrap_or([-127, 127]).map(|code| code as f64)
}

/// The smallest scale with which the codes of a scheme cover a range.
pub(crate) fn least_scale(scheme: Scheme, (low, high): (f64, f64)) -> f64 {
    let [first, last] = codes(scheme);
    match scheme.policy().is_symmetric() {
        true if low < 0.0 => (high / last).max(low / first),
        true => high / last,
        false => (high - low) / (last - first),
    }
}

/// Refuses weights that are not all finite.
pub(crate) fn are_finite(weights: &[f32]) -> Result<(), Reason> {
    match weights.iter().all(|weight| weight.is_finite()) {
        true => Ok(()),
        false => refused(ReasonCode::WeightNotFinite, "a weight is NaN or infinite"),
    }
}

/// For each index of axis 0, the range that the observer chooses. The codes must cover this range.
pub(crate) fn reach(
    values: &[f32],
    channels: usize,
    observer: &ObserverChoice,
    scheme: Scheme,
) -> Result<Vec<(f64, f64)>, Reason> {
    let each = values.len() / channels.max(1);
    let rows = (0..channels).map(|c| &values[c * each..(c + 1) * each]);
    let ends = rows.map(|row| match observer.observer {
        Observer::MinMax => {
            let fold = |f: fn(f32, f32) -> f32| f64::from(row.iter().copied().fold(0.0, f));
            Ok((fold(f32::min), fold(f32::max)))
        }
        // An empty row has no minimum and maximum.
        _ if row.is_empty() => Ok((0.0, 0.0)),
        _ => {
            let [low, high] = observer.range_of_weights(row, GridKind::of(scheme))?.map(f64::from);
            Ok((low.min(0.0), high.max(0.0)))
        }
    });
    let ends: Vec<(f64, f64)> = ends.collect::<Result<_, Reason>>()?;
    if scheme.policy().is_symmetric() && codes(scheme)[0] >= 0.0 && ends.iter().any(|ends| ends.0 < 0.0) {
        let text = "a weight is negative, and the codes in use hold no negative numbers";
        return refused(ReasonCode::WeightScale, text);
    }
    Ok(ends)
}
