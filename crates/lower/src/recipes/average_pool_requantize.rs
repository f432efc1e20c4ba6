//! `average_pool_requantize`: lowers an average pool as a sum and a requantization.
//!
//! The sum of a window is acc = Σ q over k taps, of which n count as elements. This sum is requantized by s_x /
//! (n·s_y), with the scales s_x of the operand and s_y of the result. Padding is read as the operand's zero point z_x
//! whether it counts or not, so in every window the sum k·z_x stands for real zero. If n is not the same for all
//! windows, there is one channel of parameters for each n, and a constant selects the channel by position. The sum over
//! an axis is lowered in the same way with n = 1.

use super::NodeToLower;
use super::narrow::{Product, Wide, narrow};
use crate::interval::any_code;
use crate::lowering::{Lowering, integers};
use std::sync::Arc;
use strait_core::op::{Reduce, Reduction, SumPool};
use strait_core::shape::window_elements;
use strait_core::{Channels, Elem, Failure, Op, QuantParams, Reason, ReasonCode, refused};
use strait_requantize::Per;
use strait_requantize::range::Pairs;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let (wide, _) = window_sum(lowering, site)?;
    narrow(lowering, site, wide)
}

/// Makes the sums of the windows of a pool, or the sums of a mean. Also returns the count by which the sums are
/// divided. If windows have different counts, there is one channel of parameters for each count.
pub(super) fn window_sum(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(Wide, Per<u32>), Failure> {
    let x = lowering.operand(site, 0)?;
    let (x_scale, x_zero, codes) = (x.grid.scale, x.grid.zero, x.value);
    let dims = lowering.dims(codes);
    let all = |axes: &[usize]| axes.iter().map(|&a| dims[a]).product::<u64>();
    let (op, (taps, counts, picks)): (Op, (u64, Vec<u64>, Vec<u32>)) = match &site.node.op {
        Op::AveragePool(pool) => {
            let sum = SumPool {
                size: pool.size.clone(),
                stride: pool.stride.clone(),
                pad: pool.pad.clone(),
                dilation: pool.dilation.clone(),
                ceil: pool.ceil,
                pad_value: x_zero,
                accumulator: lowering.carrier(site)?,
            };
            let result = lowering.graph().value(site.output()?).and_then(|v| v.ty.dims());
            let positions = result.unwrap_or_default();
            let divisors = pool.divisors(
                dims.get(2..).unwrap_or_default(),
                positions.get(2..).unwrap_or_default(),
            )?;
            let taps = window_elements(&pool.size);
            (sum.into(), (taps, divisors.numbers, divisors.picks))
        }
        Op::Reduce(reduce) => {
            let sum = Reduce {
                reduction: Reduction::Sum,
                ..(**reduce).clone()
            };
            let taps = all(&reduce.reduced(dims.len())?);
            let count = if reduce.reduction == Reduction::Mean { taps } else { 1 };
            (sum.into(), (taps, vec![count], Vec::new()))
        }
        _ => {
            let axes: Vec<usize> = (2..dims.len()).collect();
            let sum = Reduce {
                reduction: Reduction::Sum,
                axes: axes.iter().map(|&a| a as i64).collect(),
                keep_dims: true,
                accumulator: lowering.carrier(site)?,
            };
            let taps = all(&axes);
            (sum.into(), (taps, vec![taps], Vec::new()))
        }
    };
    prove_window(lowering, site, taps)?;
    let zero = zero_of(taps, x_zero)?;
    let too_many = |_| Reason::new(ReasonCode::PoolCount, "more than 2^32 elements count in a mean");
    let counts: Vec<u32> = { counts.iter().map(|&n| u32::try_from(n)) }
        .collect::<Result<_, _>>()
        .map_err(too_many)?;
    let (count, scale) = match counts[..] {
        [count] => (Per::Tensor(count), x_scale / count as f32),
        // If there are several counts, the means have no common scale, so the scale of the sums is used.
        _ => (counts.into_iter().collect(), x_scale),
    };
    let grid = Arc::new(QuantParams::tensor(scale, zero));
    let acc = lowering.emit(site.node, op, &[codes], Some(grid), "accumulate")?;
    let channels = match count {
        Per::Tensor(_) => Channels::Axis(0),
        Per::Channel(_) => {
            let shape = lowering.dims(acc).into_iter().enumerate();
            let shape: Vec<u64> = shape.map(|(axis, extent)| if axis < 2 { 1 } else { extent }).collect();
            let picks: Vec<i32> = picks.into_iter().map(|pick| pick as i32).collect();
            Channels::Picked(
                lowering
                    .walk
                    .data("divisors", integers(&shape, &picks, Elem::I32)?, None),
            )
        }
    };
    let product = Product::Mean(x_scale, count.clone());
    let wide = Wide {
        acc,
        zero,
        product,
        channels,
    };
    Ok((wide, count))
}

/// Proves that the sum over a window of `taps` codes stays within the target's accumulator.
pub(super) fn prove_window(lowering: &Lowering<'_>, site: &NodeToLower<'_>, taps: u64) -> Result<(), Failure> {
    if taps == 0 {
        let text = "a window has no element to take the mean of";
        return refused(ReasonCode::PoolCount, text);
    }
    let codes = lowering.operand_grid(site, 0)?.ty;
    let sum = Pairs {
        count: taps,
        first: (any_code(codes), 0),
        second: ((1, 1), 0),
        any_pattern: lowering.input_behind(site, 0).is_some(),
    };
    lowering.prove(site, &sum)
}

/// Returns k·z, the integer that stands for real zero in a sum of k codes with the zero point z. The sum of k codes
/// that are all z is k·z, so this integer fits if all sums fit.
fn zero_of(taps: u64, zero: i32) -> Result<i32, Reason> {
    let product = i128::from(taps) * i128::from(zero);
    i32::try_from(product).map_err(|_| {
        let text = format!("real zero of a sum of {taps} codes is {product}, which is past 32 bits");
        Reason::new(ReasonCode::AccumulatorOverflow, text)
    })
}
