//! The grids of weights.

use super::Annotation;
use super::ranges::kind;
use crate::observers::{GridKind, ObserverChoice};
use strait_core::{
    Failure, Granularity, Graph, GraphId, Module, Node, NodeId, Origin, Port, QuantParams, QuantTable, Reason,
    ReasonCode, Scheme, ValueId,
};
use strait_requantize::scales::power_of_two::folded_shift;
use strait_requantize::scales::{next_power_of_two, zero_of};
use strait_requantize::{IntType, Per};
use strait_target::spec::{Observer, Recipe};

/// Outcome for one node's weights.
pub(super) enum Weights {
    /// Their grid, and the channel that it had to be coarser for the most.
    Grid(QuantParams, Option<Raised>),
    /// No shift reaches the result's grid: its scale must grow by this power of two.
    Coarsen(f64),
}

/// Choice where a bias does not fit into its type on the grid of the sums, or the scale of a channel's weights is too small
/// for an f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfit {
    /// The scale of these weights is raised until it serves.
    #[default]
    Coarser,
    /// The node runs on the host.
    Float,
    /// The same, which whoever compiles takes for an error.
    Error,
}

/// Weights whose scale is larger than they ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Raised {
    /// The node that has them.
    pub node: NodeId,
    /// Their tensor.
    pub weights: ValueId,
    /// The channel whose scale is raised the most.
    pub channel: usize,
    /// By this factor.
    pub factor: f64,
    /// Number of channels whose scale is raised.
    pub channels: usize,
    /// Reason for the channel's.
    pub reason: Reason,
}

/// The scales that one channel asks for.
#[derive(Clone, Copy)]
struct Asked {
    /// That on which its weights fill their type.
    range: f64,
    /// The least on which its bias fits.
    bias: f64,
    /// That below which nothing is resolved.
    negligible: f64,
}

impl Asked {
    const NOTHING: Asked = Asked {
        range: 0.0,
        bias: 0.0,
        negligible: 0.0,
    };

    /// The scales that serve both channels.
    fn and(self, other: Asked) -> Asked {
        Asked {
            range: self.range.max(other.range),
            bias: self.bias.max(other.bias),
            negligible: self.negligible.max(other.negligible),
        }
    }

    fn least(self) -> f64 {
        self.range.max(self.bias).max(self.negligible)
    }

    /// The scale that has to be, where its weights lose by that, and why; `finest` is the least that there is. Zeros lose
    /// nothing, and neither does what resolves nothing.
    fn unfit(self, channel: usize, finest: f64) -> Option<(f64, Reason)> {
        let enough = self.range.max(self.negligible);
        if self.range <= 0.0 || self.bias.max(finest) <= enough {
            return None;
        }
        let factor = self.bias.max(finest) / self.range;
        Some(if self.bias >= finest {
            let text = format!(
                "the bias of channel {channel} fits into its type only where the scale of the weights is {} times \
                 what they ask for",
                times(factor)
            );
            (factor, Reason::new(ReasonCode::BiasWidth, text))
        } else {
            let text = format!(
                "the scale that the weights of channel {channel} ask for, {:e}, is too small for an f32",
                self.range
            );
            (factor, Reason::new(ReasonCode::WeightScale, text))
        })
    }
}

/// A factor as people read it.
fn times(factor: f64) -> String {
    if factor < 1e4 {
        format!("{factor:.1}")
    } else {
        format!("{factor:.0e}")
    }
}

/// Biases stay a factor of two inside their type, and below 2^46: LiteRT's sums of 16-bit codes end at 2^47.
fn bias_limit(bias: Option<Scheme>) -> f64 {
    let end = bias
        .and_then(|scheme| scheme.range())
        .map_or(i64::from(i32::MAX), |range| range[1]);
    (end as f64 / 2.0).min((1u64 << 46) as f64)
}

/// A weight scale below 2^−22 of the step that moves the result by one code resolves nothing: it only makes the
/// requantization's factor smaller than a form can hold. And a shift is then at most 22, so that a zero point of 8 bits
/// which is folded into the bias is at most 2^29: together they leave a quarter of i32 to the products.
const NEGLIGIBLE: f64 = 1.0 / (1u64 << 22) as f64;

/// The same where a shift leads to results of so many bits: they and the shift leave a quarter of the sums' bits, too.
fn negligible(accumulator: u8, result: u8) -> f64 {
    let bits = accumulator.saturating_sub(2).saturating_sub(result);
    NEGLIGIBLE.max((-f64::from(bits)).exp2())
}

/// Below this the grid of the accumulator is not an f32 of full precision any more.
const FINEST: f64 = 2.0 * f32::MIN_POSITIVE as f64;

/// The ends that the codes of each sign must hold, per index of axis 0, as an observer chooses them.
pub(super) fn reach(
    values: &[f32],
    channels: usize,
    observer: &ObserverChoice,
    kind: GridKind,
) -> Result<Vec<(f64, f64)>, Reason> {
    let each = values.len() / channels.max(1);
    let rows = (0..channels).map(|c| &values[c * each..(c + 1) * each]);
    let ends = rows.map(|row| match observer.observer {
        Observer::MinMax => {
            let fold = |f: fn(f32, f32) -> f32| f64::from(row.iter().copied().fold(0.0, f));
            Ok((fold(f32::min), fold(f32::max)))
        }
        // A row without elements has no extremes.
        _ if row.is_empty() => Ok((0.0, 0.0)),
        _ => {
            let [low, high] = observer.range_of_weights(row, kind)?.map(f64::from);
            Ok((low.min(0.0), high.max(0.0)))
        }
    });
    ends.collect()
}

/// The grid of the weights of `node`, a [`Recipe::MultiplyAccumulate`]; none where they have one that is given.
///
/// With the scales s_x and s_y of operand and result, the smallest scale that serves is
/// s_w = max(max W / q_max, min W / q_min, |b| / (2^30·s_x), 2^−22·s_y / s_x, 2^−125 / s_x): it holds every weight, or those
/// between the ends that an observer chooses in place of max W and min W, the bias on the accumulator's grid s_x·s_w, and
/// keeps the factor s_x·s_w / s_y and that grid itself representable. Where the target multiplies by a shift alone, s_w = 2^−n·s_y / s_x with the largest n that is not below it. Where the
/// scales of weights are powers of two, s_w is the smallest one that is not below it. A grid with a zero point takes
/// (max W − min W) / (q_max − q_min) for the first two, and then that code as the zero point with which min W is the first one.
pub(super) fn weights(
    module: &Module,
    graph: GraphId,
    how: &Annotation<'_>,
    table: &QuantTable,
    id: NodeId,
) -> Result<Option<Weights>, Failure> {
    let Some((graph, node)) = module.graph(graph).and_then(|g| Some((g, g.node(id)?))) else {
        return Ok(None);
    };
    let reads = table
        .scheme_of(id, Port::Operand(0))
        .and_then(|scheme| scheme.elem()?.int_type());
    let row = reads.and_then(|t| how.spec.row_for(node.op.term(), t.into()));
    let Some(Recipe::MultiplyAccumulate { weight_grid }) = row.and_then(|(_, row)| row.recipe()) else {
        return Ok(None);
    };
    let scheme = table.scheme_of(id, Port::Operand(1));
    let (Some(scheme), Some(x)) = (scheme, table.params_of(id, Port::Operand(0))) else {
        return Ok(None);
    };
    let per_channel = matches!(scheme.policy().per(), Granularity::Channel { .. });
    let tensor = |index: usize| {
        let value: ValueId = node.inputs.get(index).copied().flatten()?;
        Some(module.constant(graph, value)?.to_f32())
    };
    let values = tensor(1).ok_or_else(|| Failure::defect("its weights are not constants"))??;
    if !values.iter().all(|w| w.is_finite()) {
        return Err(Reason::new(ReasonCode::WeightNotFinite, "a weight is NaN or infinite").into());
    }
    let Some((x_scale, _)) = x.as_tensor() else {
        return Ok(None);
    };
    let x_scale = f64::from(x_scale);
    let y_scale = result_scale(table, id);
    let own = table.id(id, Port::Operand(1)).and_then(|config| table.grid(config));
    if let Some(own) = own.filter(|own| own.origin == Origin::Given) {
        reached(x_scale, &own.params, y_scale.filter(|_| weight_grid.leaves_a_shift()))?;
        return Ok(None);
    }
    let channels = channels(module, node, graph);
    let bias = tensor(2).transpose()?.unwrap_or_default();
    let [first, last] = scheme.range().unwrap_or([-127, 127]).map(|q| q as f64);
    let directives = &how.directives;
    let observer = directives
        .weight_observers
        .get(&id)
        .unwrap_or(&directives.weight_observer);
    let result = table.scheme_of(id, Port::Result(0));
    let result = result.filter(|scheme| !scheme.is_of_sums());
    let result = result.and_then(|scheme| scheme.elem()?.int_type());
    let negligible = match (result, row) {
        (Some(result), Some((_, row))) if weight_grid.leaves_a_shift() => {
            let sums = reads.and_then(|t| how.spec.accumulator.get(&t.into()));
            let bits = row.accumulator.or(sums.map(|sums| sums.bits)).unwrap_or(32);
            negligible(bits, result.bits())
        }
        _ => NEGLIGIBLE,
    };
    let added = added_scale(graph, how, table, node);
    let limit = bias_limit(table.scheme_of(id, Port::Operand(2)));
    let symmetric = scheme.policy().is_symmetric();
    let mut ends = reach(&values, channels, observer, kind(scheme))?;
    if !per_channel {
        let all = ends.iter().fold((0.0, 0.0), |all: (f64, f64), ends| {
            (all.0.min(ends.0), all.1.max(ends.1))
        });
        ends.fill(all);
    }
    if symmetric && first >= 0.0 && ends.iter().any(|ends| ends.0 < 0.0) {
        let text = "a weight is negative, and the codes in use hold no negative numbers";
        return Err(Reason::new(ReasonCode::WeightScale, text).into());
    }
    let mut asked: Vec<Asked> = ends
        .iter()
        .enumerate()
        .map(|(c, &(low, high))| Asked {
            range: match symmetric {
                true if low < 0.0 => (high / last).max(low / first),
                true => high / last,
                false => (high - low) / (last - first),
            },
            bias: f64::from(bias.get(c).copied().unwrap_or(0.0)).abs() / (limit * x_scale),
            negligible: y_scale.map_or(0.0, |y| negligible * y / x_scale).max(added / x_scale),
        })
        .collect();
    if let Some(ties) = directives.weight_ties.get(&id).filter(|_| per_channel) {
        for tied in asked.chunks_mut(ties.get() as usize) {
            let all = tied.iter().copied().reduce(Asked::and);
            tied.fill(all.unwrap_or(Asked::NOTHING));
        }
    }
    let least: Vec<f64> = asked.iter().map(|asked| asked.least()).collect();
    let largest = least.iter().copied().fold(0.0, f64::max);
    if bias.iter().any(|b| !b.is_finite()) {
        return Err(Reason::new(ReasonCode::WeightNotFinite, "a bias is NaN or infinite").into());
    }
    // A channel that asks for nothing, of zeros whose sum nothing narrows, takes the tensor's scale; such a tensor
    // takes 1.
    let fallback = if largest > 0.0 { largest } else { 1.0 };
    let finest = FINEST / x_scale;
    let least: Vec<f64> = match per_channel {
        true => least
            .iter()
            .map(|&s| if s > 0.0 { s } else { fallback }.max(finest))
            .collect(),
        false => vec![fallback.max(finest)],
    };
    let choice = directives.unfit(id);
    let unfit = asked.iter().enumerate();
    let unfit: Vec<(usize, f64, Reason)> = unfit
        .filter_map(|(channel, asked)| {
            let (factor, reason) = asked.unfit(channel, finest)?;
            Some((channel, factor, reason))
        })
        .collect();
    // Whoever reads the sum as a real number sees nothing of products below the last bit of the bias.
    let each = values.len() / channels.max(1);
    let [low, high] = table
        .scheme_of(id, Port::Operand(0))
        .and_then(|scheme| scheme.range())
        .unwrap_or_default();
    let is_seen = |&&(channel, ..): &&(usize, f64, Reason)| {
        let weights = values.iter().skip(channel * each).take(each);
        let products = weights.map(|&w| f64::from(w.abs())).sum::<f64>() * x_scale * (high - low) as f64;
        products > f64::from(f32::EPSILON / 2.0) * f64::from(bias.get(channel).copied().unwrap_or(0.0)).abs()
    };
    let seen: Vec<_> = match choice {
        Unfit::Float | Unfit::Error => unfit.iter().collect(),
        Unfit::Coarser => unfit.iter().filter(is_seen).collect(),
    };
    let worst = seen.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let raised = match (worst, choice) {
        (Some((_, _, reason)), Unfit::Float | Unfit::Error) => return Err(reason.clone().into()),
        (Some((channel, factor, reason)), Unfit::Coarser) => Some(Raised {
            node: id,
            weights: node.inputs.get(1).copied().flatten().unwrap_or(ValueId::new(0)),
            channel: *channel,
            factor: *factor,
            channels: seen.len(),
            reason: reason.clone(),
        }),
        (None, _) => None,
    };
    let powers = scheme.policy().has_powers_of_two();
    let mut scales = Vec::with_capacity(least.len());
    let mut coarsen = 1.0f64;
    for &least in &least {
        let scale = match (weight_grid, y_scale) {
            (grid, Some(y)) if grid.leaves_a_shift() => match folded_shift(x_scale as f32, least as f32, y as f32) {
                Ok((_, scale)) => scale,
                Err(error) => {
                    // Exact, as in the comparison that failed; two grids of one group never come apart.
                    let excess = x_scale * f64::from(least as f32) / y;
                    if !(excess > 1.0 && excess.is_finite()) || shares_grid(table, id) {
                        return Err(Reason::new(ReasonCode::NoShift, error.to_string()).into());
                    }
                    coarsen = coarsen.max(next_power_of_two(excess).max(2.0));
                    continue;
                }
            },
            // A power of two that is not below it; a shift between scales that are powers of two leaves one by itself.
            _ if powers => next_power_of_two(least),
            _ => least,
        };
        scales.push(scale as f32);
    }
    if coarsen > 1.0 {
        return Ok(Some(Weights::Coarsen(coarsen)));
    }
    let accumulates = |s: f32| (s * x_scale as f32).is_normal();
    if let Some(channel) = scales.iter().position(|&s| !s.is_normal() || !accumulates(s)) {
        let whose = if per_channel {
            format!(" of channel {channel}")
        } else {
            String::new()
        };
        let text = format!("its weights{whose} are too large or too small for a scale in f32");
        return Err(Reason::new(ReasonCode::WeightScale, text).into());
    }
    let zero = |(&scale, &(low, _)): (&f32, &(f64, f64))| zero_of(low, scale.into(), [first, last]);
    let mut zeros = scales.iter().zip(&ends).map(zero);
    let zero_point = match (symmetric, per_channel) {
        (true, _) => Per::Tensor(0),
        (false, true) => zeros.collect(),
        (false, false) => Per::Tensor(zeros.next().unwrap_or(0)),
    };
    let grid = QuantParams {
        zero_point,
        ..match per_channel {
            true => QuantParams::channel(scales.into(), 0),
            false => QuantParams::tensor(scales[0], 0),
        }
    };
    Ok(Some(Weights::Grid(grid, raised)))
}

/// The least step of the sums of a node that codes are added to inside its accumulator, and 0 of others: 2^−20 of that of these
/// codes, and less for more than 8 bits, so that together they take up an eighth of 32 bits; and 2^−22 of that of the result.
fn added_scale(graph: &Graph, how: &Annotation<'_>, table: &QuantTable, node: &Node) -> f64 {
    let reader = node.outputs.first().and_then(|&y| graph.only_use(y));
    let sum = reader.filter(|at| how.roles().summed(graph, at.node) == Some(at.operand.into()));
    let Some(id) = sum.map(|at| (at.node, Port::Operand(1 - usize::from(at.operand)))) else {
        return 0.0;
    };
    let scale = |port| Some(f64::from(table.params_of(id.0, port)?.as_tensor()?.0));
    let bits = table.scheme_of(id.0, id.1).and_then(|scheme| scheme.elem()?.int_type());
    let bits = 28 - i32::from(bits.map_or(8, IntType::bits));
    let codes = scale(id.1).map_or(0.0, |scale| scale * f64::from(-bits).exp2());
    codes.max(result_scale(table, id.0).map_or(0.0, |y| y * NEGLIGIBLE))
}

/// The scale of the first result, where it has codes.
fn result_scale(table: &QuantTable, id: NodeId) -> Option<f64> {
    let codes = |scheme: Scheme| !scheme.is_of_sums();
    table.scheme_of(id, Port::Result(0)).filter(|&scheme| codes(scheme))?;
    Some(f64::from(table.params_of(id, Port::Result(0))?.as_tensor()?.0))
}

/// True if operand and result are on one grid, whatever it is.
fn shares_grid(table: &QuantTable, id: NodeId) -> bool {
    let root = |port| table.id(id, port).map(|config| table.root(config));
    root(Port::Operand(0)) == root(Port::Result(0))
}

/// Looks at weights whose grid is given: where shifts are all that leads to the result's grid, there has to be one.
fn reached(x: f64, given: &QuantParams, y: Option<f64>) -> Result<(), Reason> {
    let Some(y) = y else { return Ok(()) };
    let off = |scale: &f32| {
        let bits = (y / (x * f64::from(*scale))).log2();
        // Scales are rounded to f32: the logarithm is within 2^-20 of a whole number.
        (bits - bits.round()).abs() > 1e-5 || !(0.0..=31.0).contains(&bits.round())
    };
    if given.scale.all(|scale| !off(scale)) {
        return Ok(());
    }
    let text = "no shift leads from the grids that its operand and weights are given to that of its result";
    Err(Reason::new(ReasonCode::NoShift, text))
}

fn channels(module: &Module, node: &Node, graph: &Graph) -> usize {
    let weight = node
        .inputs
        .get(1)
        .copied()
        .flatten()
        .and_then(|v| module.constant(graph, v));
    weight.and_then(|w| w.shape().first().copied()).unwrap_or(1) as usize
}
