//! The grids of the weights of two nodes whose shifted accumulators are added: both accumulators have to be on the same
//! grid.

use super::multiplied::{self, Weights};
use crate::annotate::state::PassContext;
use std::cmp::Ordering;
use strait_core::{Failure, NodeId, Port, QuantParams, QuantTable, Reason, ReasonCode};
use strait_requantize::Per;

/// Returns the grid of the weights of a node, as [`multiplied::weights`] finds it. If the node's accumulator is shifted
/// and added to that of another node, the grid is made coarser so that both accumulators have the same grid
/// ([`equal_sums`]).
pub(crate) fn weights(context: &PassContext<'_>, table: &QuantTable, id: NodeId) -> Result<Option<Weights>, Failure> {
    let own = multiplied::weights(context, table, id)?;
    let partner = context.how.roles().shifted_partner(context.graph, id);
    let Some((partner, Some(Weights::Grid(params, raised)))) = partner.zip(Some(&own)) else {
        return Ok(own);
    };
    let Some(Weights::Grid(others, _)) = multiplied::weights(context, table, partner)? else {
        return Ok(own);
    };
    let scale = |id| Some(table.params_of(id, Port::Operand(0))?.as_tensor()?.0);
    let (Some(x), Some(y)) = (scale(id), scale(partner)) else {
        return Ok(own);
    };
    let scales = equal_sums((x, &params.scale), (y, &others.scale))?;
    let grid = QuantParams {
        axis: scales.channels().is_some().then_some(0),
        scale: scales,
        ..params.clone()
    };
    Ok(Some(Weights::Grid(grid, raised.clone())))
}

/// The scale of a channel's accumulator is at least this fraction of the largest scale among all channels. All channels
/// are shifted by the same number of bits. So with a smaller scale, the shifted accumulator of a channel would reach at
/// most a 64th of the range of the result, which has 8 bits.
const FINEST_SUM: f64 = 1.0 / 64.0;

/// Returns scales for the weights of the first of two nodes. `x` and `y` are the scales of the operands of the two
/// nodes, and `w` and `v` are the smallest scales that their weights may have. The weights get scales w' and v' such
/// that w'·x and v'·y are the same f32 in each channel, and that no scale of the weights or accumulators becomes
/// smaller than needed. If either `w` or `v` is a single scale, the result is a single scale too. The smallest scales
/// that meet these conditions are taken. This function is called for each of the two nodes, and both calls find the
/// same pair of scales.
fn equal_sums((x, w): (f32, &Per<f32>), (y, v): (f32, &Per<f32>)) -> Result<Per<f32>, Reason> {
    let channels = w.channels().and(v.channels());
    let largest = |scales: &Per<f32>, channel: usize| match channels {
        Some(_) => scales.get(channel).copied().unwrap_or(0.0),
        None => {
            let all = (0..scales.channels().unwrap_or(1)).filter_map(|channel| scales.get(channel));
            all.copied().fold(0.0, f32::max)
        }
    };
    let step = |channel: usize| {
        let [w, v] = [w, v].map(|scales| f64::from(largest(scales, channel)));
        (w * f64::from(x)).max(v * f64::from(y))
    };
    let steps = || (0..channels.unwrap_or(1)).map(step);
    let finest = steps().fold(0.0, f64::max) * FINEST_SUM;
    let scales: Option<Vec<f32>> = steps()
        .map(|step| {
            let step = step.max(finest);
            let up = |x: f32| {
                let w = (step / f64::from(x)) as f32;
                if f64::from(w) * f64::from(x) < step {
                    w.next_up()
                } else {
                    w
                }
            };
            let (mut w, mut v) = (up(x), up(y));
            for _ in 0..MOST_TRIES {
                match (w * x).partial_cmp(&(v * y))? {
                    Ordering::Equal => return Some(w),
                    Ordering::Less => w = w.next_up(),
                    Ordering::Greater => v = v.next_up(),
                }
            }
            None
        })
        .collect();
    let text = "no scales of both weights give its sums and those that are added to them the same one";
    let scales = scales.ok_or_else(|| Reason::new(ReasonCode::WeightScale, text))?;
    Ok(match channels {
        Some(_) => scales.into_iter().collect(),
        None => Per::Tensor(scales.first().copied().unwrap_or(1.0)),
    })
}

/// The largest number of pairs of scales that the search tries. As long as the products of the two scales with `x` and
/// `y` differ, the search raises one of the scales to the next f32. Each of the two sequences of products contains at
/// least every second f32, so they have a common number after a few steps.
const MOST_TRIES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_of_two_products_get_one_grid_that_is_not_finer(
            x in 1e-4f32..1.0,
            y in 1e-4f32..1.0,
            w in prop::collection::vec(1e-5f32..1e-1, 4),
            v in prop::collection::vec(1e-5f32..1e-1, 4),
        ) {
            let [w, v]: [Per<f32>; 2] = [w, v].map(|scales| scales.into_iter().collect());
            let first = equal_sums((x, &w), (y, &v)).unwrap();
            let second = equal_sums((y, &v), (x, &w)).unwrap();
            for channel in 0..4 {
                let of = |scales: &Per<f32>| *scales.get(channel).unwrap();
                prop_assert_eq!((of(&first) * x).to_bits(), (of(&second) * y).to_bits());
                prop_assert!(of(&first) >= of(&w) && of(&second) >= of(&v));
            }
        }
    }
}
